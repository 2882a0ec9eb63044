#include <tantu/kernels/cpu/lines.h>

#include <cstring>

namespace tantu::cpu {

namespace {

// Halves have no arithmetic of their own: they pass through float.
template <class T>
using number_t = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

template <class C, class T>
C read(T value) {
  const number_t<T> number = static_cast<number_t<T>>(value);
  if constexpr (std::is_same_v<C, uint8_t>) return number != number_t<T>(0);
  else return static_cast<C>(number);
}

template <class T, class C>
T written(C value) {
  if constexpr (std::is_same_v<T, bool>) return value != C(0);
  else return static_cast<T>(static_cast<number_t<T>>(value));
}

template <class C, class T>
void load(const void* from, int64_t stride, int64_t n, void* to) {
  const T* x = static_cast<const T*>(from);
  C* y = static_cast<C*>(to);
  if (stride == 1) {
    if constexpr (std::is_same_v<C, T>) {
      if (n > 0) std::memcpy(y, x, static_cast<size_t>(n) * sizeof(C));
    } else {
      int64_t i = 0;
#if defined(__F16C__)
      if constexpr (std::is_same_v<C, float> && std::is_same_v<T, float16>)
        for (; i + 8 <= n; i += 8)
          _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
#pragma GCC ivdep
      for (; i < n; ++i) y[i] = read<C>(x[i]);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = read<C>(x[i * stride]);
  }
}

template <class C, class T>
void store(const void* from, int64_t n, void* to, int64_t stride) {
  const C* x = static_cast<const C*>(from);
  T* y = static_cast<T*>(to);
  if (stride == 1) {
    if constexpr (std::is_same_v<C, T>) {
      if (n > 0) std::memcpy(y, x, static_cast<size_t>(n) * sizeof(C));
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = written<T>(x[i]);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * stride] = written<T>(x[i]);
  }
}

}  // namespace

template <class C>
LoadLine load_line(DType from) {
  return visit_dtype(from, [&]<class T>(Tag<T>) -> LoadLine { return load<C, T>; });
}
template <class C>
StoreLine store_line(DType to) {
  return visit_dtype(to, [&]<class T>(Tag<T>) -> StoreLine { return store<C, T>; });
}

template LoadLine load_line<float>(DType);
template LoadLine load_line<double>(DType);
template LoadLine load_line<int64_t>(DType);
template LoadLine load_line<uint8_t>(DType);
template StoreLine store_line<float>(DType);
template StoreLine store_line<double>(DType);
template StoreLine store_line<int64_t>(DType);
template StoreLine store_line<uint8_t>(DType);

}  // namespace tantu::cpu
