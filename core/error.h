#pragma once

#include <tantu/core/export.h>

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace tantu {

/// Base of everything tantu throws. The text reads `op: what is wrong, with the values`.
class TANTU_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text) {}
  ~Error() override;
};

/// Wrong or unmatched sizes, dimensions or strides.
class TANTU_API ShapeError : public Error {
 public:
  using Error::Error;
  ~ShapeError() override;
};

/// An element type that the operation does not take.
class TANTU_API DTypeError : public Error {
 public:
  using Error::Error;
  ~DTypeError() override;
};

/// Tensors on different devices, or a device that does not exist here.
class TANTU_API DeviceError : public Error {
 public:
  using Error::Error;
  ~DeviceError() override;
};

/// An argument whose value is out of its domain (a negative rate, an unknown word).
class TANTU_API ValueError : public Error {
 public:
  using Error::Error;
  ~ValueError() override;
};

/// A position outside a tensor, a dimension outside a shape, a class outside the classes.
class TANTU_API IndexError : public Error {
 public:
  using Error::Error;
  ~IndexError() override;
};

/// Misuse of the tape: backward twice, a saved tensor overwritten, in-place on a leaf.
class TANTU_API AutogradError : public Error {
 public:
  using Error::Error;
  ~AutogradError() override;
};

/// Memory of a device (or of the host) could not be had. The process can go on.
class TANTU_API OutOfMemoryError : public Error {
 public:
  using Error::Error;
  ~OutOfMemoryError() override;
};

/// A GPU refused a call or failed while it worked: a launch, a copy, a wait. The text holds the launch, the operation
/// and the caller's line as far as they are known. Virtual GPUs go on afterwards; on silicon a fault inside a kernel
/// ends the process's use of the device.
class TANTU_API AcceleratorError : public Error {
 public:
  AcceleratorError(const std::string& text, int error_code) : Error(text), error_code_(error_code) {}
  ~AcceleratorError() override;
  /// CUDA's number, as 700 for an illegal address.
  int error_code() const { return error_code_; }

 private:
  int error_code_;
};

/// A collective or a process group failed.
class TANTU_API DistError : public Error {
 public:
  using Error::Error;
  ~DistError() override;
};

/// A file, or a text from outside, breaks its format.
class TANTU_API FormatError : public Error {
 public:
  using Error::Error;
  ~FormatError() override;
};

}  // namespace tantu

/// Throws `Type(fmt::format(...))` unless `condition` holds. The message is built only on failure.
#define TANTU_CHECK(condition, Type, ...)                            \
  do {                                                               \
    if (!(condition)) throw ::tantu::Type(fmt::format(__VA_ARGS__)); \
  } while (false)
