#pragma once

namespace tantu {

namespace detail {
struct GradState {
  bool grad = true;
  bool inference = false;
  bool anomaly = false;
};
GradState& grad_state();  // of this thread
}  // namespace detail

/// Whether operations of this thread are recorded on the tape.
inline bool is_grad_enabled() {
  return detail::grad_state().grad;
}
inline bool is_inference_mode() {
  return detail::grad_state().inference;
}

/// Sets this thread's grad mode while it is alive.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool on) : saved_(detail::grad_state().grad) { detail::grad_state().grad = on; }
  ~GradModeGuard() { detail::grad_state().grad = saved_; }
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  bool saved_;
};

/// Nothing is recorded on this thread while it is alive.
class NoGradGuard : GradModeGuard {
 public:
  NoGradGuard() : GradModeGuard(false) {}
};

/// Recording is on again inside a NoGradGuard.
class EnableGradGuard : GradModeGuard {
 public:
  EnableGradGuard() : GradModeGuard(true) {}
};

/// NoGradGuard that also stops keeping track of views: the fastest way to run a finished model.
class InferenceMode {
 public:
  InferenceMode() : saved_(detail::grad_state()) {
    detail::grad_state().grad = false;
    detail::grad_state().inference = true;
  }
  ~InferenceMode() { detail::grad_state() = saved_; }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  detail::GradState saved_;
};

/// While alive, a backward function that returns a NaN throws AutogradError naming the forward line of its operation.
class AnomalyMode {
 public:
  explicit AnomalyMode(bool on = true) : saved_(detail::grad_state().anomaly) { detail::grad_state().anomaly = on; }
  ~AnomalyMode() { detail::grad_state().anomaly = saved_; }
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool saved_;
};

}  // namespace tantu
