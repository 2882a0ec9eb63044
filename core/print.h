#pragma once

#include <tantu/core/tensor.h>

#include <iosfwd>

namespace tantu {

/// How tensors are printed: PyTorch's options and defaults.
struct PrintOptions {
  int precision = 4;                  ///< digits after the point of floating values
  int64_t threshold = 1000;           ///< tensors of more elements show only their edges
  int64_t edge_items = 3;             ///< shown at each end of a dimension then
  int64_t line_width = 80;            ///< characters, for breaking lines
  std::optional<bool> sci_mode = {};  ///< 1.0000e+00; unset: where the values spread more than 1000-fold or are extreme
};

/// The options of this thread.
const PrintOptions& print_options();
/// ValueError for a negative number.
void set_print_options(const PrintOptions& options);

/// Other options on this thread while it is alive.
class PrintOptionsGuard {
 public:
  explicit PrintOptionsGuard(const PrintOptions& options) : saved_(print_options()) { set_print_options(options); }
  ~PrintOptionsGuard() { set_print_options(saved_); }
  PrintOptionsGuard(const PrintOptionsGuard&) = delete;
  PrintOptionsGuard& operator=(const PrintOptionsGuard&) = delete;

 private:
  PrintOptions saved_;
};

/// "tensor([[1., 2.],\n        [3., 4.]], dtype=float64, requires_grad=True)".
std::ostream& operator<<(std::ostream& out, const Tensor& t);

/// The elements of a host view in nested brackets, as they stand behind `indent` characters.
std::string format_elements(const ConstView& x, int64_t indent);
/// `text` (an opened parenthesis and elements) with ", suffix" for each suffix, on new lines where the line is full,
/// and ")".
std::string close_with_suffixes(std::string text, const std::vector<std::string>& suffixes, int64_t indent);

}  // namespace tantu
