#include <tantu/autograd/backward_streams.h>

#include <algorithm>

namespace tantu {

namespace {

void change(const Stream& to) {
  const Stream from = gpu::current_stream(to.device());
  if (from == to) return;
  to.wait_stream(from);
  gpu::set_stream(to);
}

}  // namespace

void BackwardStreams::change_to(const gpu::ChosenStreams& streams) {
  const gpu::ChosenStreams before = now_;
  now_ = streams;
  if (streams)
    for (const Stream& stream : *streams) change(stream);
  if (!before) return;
  for (const Stream& old : *before) {
    const auto same_device = [&](const Stream& s) { return s.device() == old.device(); };
    if (!streams || std::none_of(streams->begin(), streams->end(), same_device))
      change(Stream::default_stream(old.device()));
  }
}

BackwardStreams::~BackwardStreams() {
  try {
    enter(callers_);
  } catch (const Error&) {  // the device has failed: whoever waits for it is told
  }
}

}  // namespace tantu
