#pragma once

#include <tantu/kernels/index.h>

namespace tantu::cpu {

/// Reads a plan's index chunk by chunk. Dimensions are merged as far as all index tensors and the other operand allow.
class IndexReader {
 public:
  /// `other`: the strides of the other operand (result or values) in the index dimensions.
  IndexReader(const IndexPlan& plan, const Strides& other);

  /// How many positions there are.
  int64_t count() const { return count_; }
  /// One more than the largest offset a right index can lead to.
  int64_t extent() const { return extent_; }
  /// IndexError if an index of positions [start, start + n) is outside of its dimension.
  void check(int64_t start, int64_t n) const;
  /// Offsets of positions [start, start + n) in the indexed tensor. Checks as it goes.
  void positions(int64_t start, int64_t n, int64_t* offsets) const;
  /// Offsets of the same positions in the other operand.
  void others(int64_t start, int64_t n, int64_t* offsets) const;

 private:
  struct Pick {
    const void* data;
    bool is_int64;
    Strides strides;
    int64_t size, stride;
  };

  void ramp(const Strides& strides, int64_t start, int64_t n, int64_t* offsets) const;
  template <class F>
  void for_pick_runs(const Pick& pick, int64_t start, int64_t n, F f) const;
  template <class T>
  void check_run(const Pick& pick, const T* index, int64_t step, int64_t n, int64_t position) const;
  [[noreturn]] void fail(const Pick& pick, int64_t position, int64_t value) const;

  const IndexPlan& plan_;
  Shape sizes_;
  Strides base_, other_;
  std::array<Pick, kMaxDims> picks_;
  bool has_base_ = false;
  int64_t count_ = 0, extent_ = 1;
};

}  // namespace tantu::cpu
