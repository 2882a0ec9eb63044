#pragma once

#include <tantu/core/current.h>

namespace tantu {

/// While a backward runs: each node's work goes to the streams that its forward call ran on, and whenever these change,
/// the new ones wait for the old ones. So all of it is in order, and memory that a stream gives up is not taken before
/// the others are done with it. At the end the caller's streams are current again and wait for the rest.
class BackwardStreams {
 public:
  BackwardStreams() : callers_(gpu::chosen_streams()), now_(callers_) {}
  ~BackwardStreams();
  BackwardStreams(const BackwardStreams&) = delete;
  BackwardStreams& operator=(const BackwardStreams&) = delete;

  void enter(const gpu::ChosenStreams& streams) {
    if (streams != now_) change_to(streams);
  }

 private:
  void change_to(const gpu::ChosenStreams& streams);

  const gpu::ChosenStreams callers_;
  gpu::ChosenStreams now_;
};

}  // namespace tantu
