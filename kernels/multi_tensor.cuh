#pragma once

#include <tantu/kernels/typed_reader.cuh>

#include <array>
#include <cstdint>

// Many tensors in one launch: their addresses and lengths are kernel parameters, and a block works on a chunk of 65,536
// elements of one of them, in words of 4 elements where all its addresses allow.
namespace tantu {
namespace {

constexpr int kTensorThreads = 256, kWord = 4;
constexpr int64_t kTensorChunk = 65536;

/// A packed arrays of one dtype and n elements; which of the caller's tensors they are.
template <int A>
struct TensorSlot {
  char* data[A];  ///< null: absent
  int64_t n, first_chunk;
  int index;
  bool words;
};

template <int A>
struct TensorBatch {
  static constexpr int kMost = 3840 / static_cast<int>(sizeof(TensorSlot<A>));
  int count = 0;
  int64_t chunks = 0;
  TensorSlot<A> tensors[kMost] = {};
};

template <class T>
struct alignas(sizeof(T) * kWord > 16 ? 16 : sizeof(T) * kWord) Word {
  T of[kWord];
};

/// The tensor that this block works on, elements start … end - 1, the first `words` * kWord of them in words.
template <int A>
struct TensorPart {
  const TensorSlot<A>& tensor;
  int64_t start, end, words;
};
template <int A>
__device__ __forceinline__ TensorPart<A> my_part(const TensorBatch<A>& batch) {
  int at = 0;
  while (at + 1 < batch.count && batch.tensors[at + 1].first_chunk <= static_cast<int64_t>(blockIdx.x)) ++at;
  const TensorSlot<A>& t = batch.tensors[at];
  const int64_t start = (static_cast<int64_t>(blockIdx.x) - t.first_chunk) * kTensorChunk;
  const int64_t end = start + kTensorChunk < t.n ? start + kTensorChunk : t.n;
  return {t, start, end, t.words ? (end - start) / kWord : 0};
}

/// Collects slots and hands them on when there are as many as one launch takes.
template <int A, class Flush>
class TensorBatches {
 public:
  TensorBatches(int64_t element_size, Flush flush) : element_size_(element_size), flush_(flush) {}

  void add(int index, int64_t n, const std::array<char*, A>& data) {
    TensorSlot<A>& slot = batch_.tensors[batch_.count++];
    const int64_t alignment = element_size_ * kWord > 16 ? 16 : element_size_ * kWord;
    slot.n = n;
    slot.first_chunk = batch_.chunks;
    slot.index = index;
    slot.words = true;
    for (int k = 0; k < A; ++k) {
      slot.data[k] = data[static_cast<size_t>(k)];
      slot.words &= reinterpret_cast<uintptr_t>(slot.data[k]) % static_cast<uintptr_t>(alignment) == 0;
    }
    batch_.chunks += (n + kTensorChunk - 1) / kTensorChunk;
    if (batch_.count == TensorBatch<A>::kMost) finish();
  }
  void finish() {
    if (batch_.count > 0) flush_(batch_);
    batch_.count = 0;
    batch_.chunks = 0;
  }

 private:
  int64_t element_size_;
  Flush flush_;
  TensorBatch<A> batch_;
};

}  // namespace
}  // namespace tantu
