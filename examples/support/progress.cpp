#include "progress.h"

#include <fmt/core.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace examples {

namespace {

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) && term && std::strcmp(term, "dumb") != 0;
}

std::string clock_text(double seconds) {
  const int s = static_cast<int>(seconds + 0.5);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

Progress::Progress(std::string title, int64_t total, std::string unit)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      terminal_(is_terminal()),
      start_(Clock::now()),
      last_draw_(start_) {}

Progress::~Progress() {
  if (terminal_ && done_ > 0) draw(true);
}

void Progress::advance(int64_t count, const std::string& note) {
  done_ += count;
  note_ = note;
  const auto now = Clock::now();
  if (!terminal_ || (drawn_ && now - last_draw_ < std::chrono::milliseconds(100))) return;
  last_draw_ = now;
  draw(false);
}

void Progress::draw(bool last) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double share = total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : 1;
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  const int width = 24, full = static_cast<int>(share * width);
  const std::string bar =
      std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(width - full), '.');
  const std::string left = last       ? clock_text(seconds)
                           : rate > 0 ? "ETA " + clock_text(static_cast<double>(total_ - done_) / rate)
                                      : "ETA -";
  std::fprintf(stderr, "\r%s [%s] %3d%%  %.0f %s/s  %s  %s\x1b[K%s", title_.c_str(), bar.c_str(),
               static_cast<int>(share * 100), rate, unit_.c_str(), left.c_str(), note_.c_str(), last ? "\n" : "");
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace examples
