#pragma once

#include <tantu/core/export.h>

#include <string>
#include <utility>

namespace tantu {

/// The file and line of a call. As a default argument `Site at = Site::here()` it is the caller's line.
struct Site {
  const char* file = nullptr;
  int line = 0;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
  explicit operator bool() const { return file != nullptr; }
};

/// Remembers the site of the outermost public call on this thread while it is alive; nested scopes change nothing.
class SiteScope {
 public:
  explicit SiteScope(Site at) : outermost_(slot().file == nullptr) {
    if (outermost_) slot() = at;
  }
  ~SiteScope() {
    if (outermost_) slot() = Site{};
  }
  SiteScope(const SiteScope&) = delete;
  SiteScope& operator=(const SiteScope&) = delete;

  /// The outermost call now running on this thread; empty outside of every public call.
  static Site current() { return slot(); }

 private:
  friend class SiteOverride;
  static Site& slot();
  bool outermost_;
};

/// ", called at train.cpp:12": the end of an error's text. Empty outside of every public call.
TANTU_API std::string called_at();

/// Everything done while it is alive counts as done at `at`: gradients belong to the line of their forward operation.
class SiteOverride {
 public:
  explicit SiteOverride(Site at) : saved_(std::exchange(SiteScope::slot(), at)) {}
  ~SiteOverride() { SiteScope::slot() = saved_; }
  SiteOverride(const SiteOverride&) = delete;
  SiteOverride& operator=(const SiteOverride&) = delete;

 private:
  Site saved_;
};

}  // namespace tantu
