#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace examples {

/// A progress line on stderr with rate and time left, drawn at most 10 times a second, on a terminal only. Ends with a
/// newline, also when an exception passes.
class Progress {
 public:
  /// `unit` is what is counted: "images".
  Progress(std::string title, int64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` is shown at the end of the line: "loss 0.412".
  void advance(int64_t count, const std::string& note);

 private:
  void draw(bool last);

  using Clock = std::chrono::steady_clock;
  std::string title_, unit_, note_;
  int64_t total_, done_ = 0;
  bool terminal_, drawn_ = false;
  Clock::time_point start_, last_draw_;
};

}  // namespace examples
