#pragma once

#include <tantu/core/view.h>
#include <tantu/kernels/cpu/lines.h>

#include <vector>

/// Contiguous data cut into lines, seen as float or double whatever its dtype.
namespace tantu::cpu {

/// A small array as numbers of A; empty where the view has no data.
template <class A>
std::vector<A> values_of(const ConstView& v) {
  std::vector<A> values(v.data ? static_cast<size_t>(v.numel()) : 0);
  if (v.data) load_line<A>(v.dtype)(v.data, v.rank() == 1 ? v.strides[0] : 1, v.numel(), values.data());
  return values;
}
inline void store_doubles(const std::vector<double>& values, const View& v) {
  store_line<double>(v.dtype)(values.data(), v.numel(), v.data, v.rank() == 1 ? v.strides[0] : 1);
}

/// Reads lines of A: in place where they are A's already, else through a buffer.
template <class A>
class LineReader {
 public:
  LineReader(const ConstView& v, int64_t longest)
      : data_(static_cast<const char*>(v.data)),
        item_(item_size(v.dtype)),
        in_place_(is_stored_as<A>(v.dtype)),
        load_(load_line<A>(v.dtype)),
        buffer_(static_cast<size_t>(in_place_ ? 0 : longest)) {}
  /// Elements [start, start + n), valid until the next call.
  const A* read(int64_t start, int64_t n) {
    if (in_place_) return reinterpret_cast<const A*>(data_) + start;
    load_(data_ + start * item_, 1, n, buffer_.data());
    return buffer_.data();
  }

 private:
  const char* data_;
  int64_t item_;
  bool in_place_;
  LoadLine load_;
  std::vector<A> buffer_;
};

/// Writes lines of A: `write(start, n)` gives the place to fill, `done()` carries it to its destination.
template <class A>
class LineWriter {
 public:
  LineWriter(const View& v, int64_t longest)
      : data_(static_cast<char*>(v.data)),
        item_(item_size(v.dtype)),
        in_place_(is_stored_as<A>(v.dtype)),
        store_(store_line<A>(v.dtype)),
        buffer_(static_cast<size_t>(in_place_ ? 0 : longest)) {}
  A* write(int64_t start, int64_t n) {
    start_ = start;
    count_ = n;
    return in_place_ ? reinterpret_cast<A*>(data_) + start : buffer_.data();
  }
  void done() {
    if (!in_place_) store_(buffer_.data(), count_, data_ + start_ * item_, 1);
  }

 private:
  char* data_;
  int64_t item_, start_ = 0, count_ = 0;
  bool in_place_;
  StoreLine store_;
  std::vector<A> buffer_;
};

}  // namespace tantu::cpu
