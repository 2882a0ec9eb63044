#include <tantu/kernels/cpu/strided.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tantu::cpu {

namespace {

bool order_by_stride(const ConstView* views, int count, int x, int y) {  // whether dimension x goes outside of y
  for (int i = 0; i < count; ++i) {
    const int64_t sx = std::abs(views[i].strides[x]), sy = std::abs(views[i].strides[y]);
    if (sx != sy && sx != 0 && sy != 0) return sx > sy;
  }
  return x < y;
}

bool can_merge(const Walk& walk, int outer, int inner) {
  for (int i = 0; i < walk.count; ++i) {
    const Strides& s = walk.operands[static_cast<size_t>(i)].strides;
    if (s[outer] != s[inner] * walk.sizes[inner]) return false;
  }
  return true;
}

// Calls f(offset, buffer position, length, stride) for each run of the innermost dimension that [start, start + n)
// covers.
template <class F>
void for_runs(const Walk& walk, int operand, int64_t start, int64_t n, F&& f) {
  const Strides& strides = walk.operands[static_cast<size_t>(operand)].strides;
  const int rank = walk.sizes.size();
  if (rank == 0) {
    f(int64_t{0}, int64_t{0}, n, int64_t{0});
    return;
  }
  int64_t index[kMaxDims], rest = start, offset = 0;
  for (int d = rank - 1; d >= 0; --d) {
    index[d] = rest % walk.sizes[d];
    rest /= walk.sizes[d];
    offset += index[d] * strides[d];
  }
  const int inner = rank - 1;
  for (int64_t done = 0; done < n;) {
    const int64_t run = std::min(n - done, walk.sizes[inner] - index[inner]);
    f(offset, done, run, strides[inner]);
    done += run;
    index[inner] += run;
    offset += run * strides[inner];
    for (int d = inner; d > 0 && index[d] == walk.sizes[d]; --d) {
      offset += strides[d - 1] - index[d] * strides[d];
      index[d] = 0;
      ++index[d - 1];
    }
  }
}

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    if constexpr (std::is_same_v<From, float16> || std::is_same_v<From, bfloat16>)
      return static_cast<float>(value) != 0;
    else return value != From{};
  } else if constexpr (std::is_same_v<From, float16> || std::is_same_v<From, bfloat16>) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // Out of range is undefined in C++; what x86 gives for the widest integer, cut to the narrower, is what PyTorch
    // shows.
    if (!(value >= From(-9223372036854775808.0) && value < From(9223372036854775808.0)))
      return static_cast<To>(std::numeric_limits<int64_t>::min());
    return static_cast<To>(static_cast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class To, class From>
void copy_run(To* to, int64_t to_stride, const From* from, int64_t from_stride, int64_t n) {
  if (to_stride == 1 && from_stride == 1) {
    if constexpr (std::is_same_v<To, From>) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(To));
    } else {
      int64_t i = 0;
#if defined(__F16C__) && defined(__AVX__)
      // Eight at a time: compilers do not turn the conversion of one float16 into vector code.
      if constexpr (std::is_same_v<To, float> && std::is_same_v<From, float16>) {
        for (; i + 8 <= n; i += 8)
          _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
      } else if constexpr (std::is_same_v<To, float16> && std::is_same_v<From, float>) {
        for (; i + 8 <= n; i += 8)
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                           _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
      }
#endif
#pragma GCC ivdep
      for (; i < n; ++i) to[i] = convert<To>(from[i]);
    }
  } else if (to_stride == 1 && from_stride == 0) {
    const To value = convert<To>(*from);
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = convert<To>(from[i * from_stride]);
  }
}

template <class F>
void visit_compute(DType t, F&& f) {
  switch (t) {
    case DType::Float32: return f(Tag<float>{});
    case DType::Float64: return f(Tag<double>{});
    case DType::Bool: return f(Tag<bool>{});
    default: return f(Tag<int64_t>{});
  }
}

}  // namespace

Walk::Walk(const ConstView* views, int view_count) : count(view_count) {
  const ConstView& first = views[0];
  numel = tantu::numel(first.sizes);
  int order[kMaxDims], rank = 0;
  for (int d = 0; d < first.sizes.size(); ++d)
    if (first.sizes[d] != 1) order[rank++] = d;
  for (int i = 1; i < rank; ++i)
    for (int k = i; k > 0 && order_by_stride(views, count, order[k], order[k - 1]); --k)
      std::swap(order[k], order[k - 1]);
  for (int i = 0; i < count; ++i) {
    WalkOperand& o = operands[static_cast<size_t>(i)];
    o.data = static_cast<char*>(const_cast<void*>(views[i].data));
    o.dtype = views[i].dtype;
    for (int d = 0; d < rank; ++d) o.strides.push_back(views[i].strides[order[d]]);
  }
  for (int d = 0; d < rank; ++d) sizes.push_back(first.sizes[order[d]]);
  for (int d = rank - 2; d >= 0; --d) {
    if (!can_merge(*this, d, d + 1)) continue;
    sizes[d] *= sizes[d + 1];
    sizes.erase(d + 1);
    for (int i = 0; i < count; ++i) operands[static_cast<size_t>(i)].strides.erase(d);
  }
  for (int i = 0; i < count; ++i) {
    WalkOperand& o = operands[static_cast<size_t>(i)];
    o.contiguous = is_contiguous(sizes, o.strides);
  }
}

void load(const Walk& walk, int operand, int64_t start, int64_t n, DType compute, void* buffer) {
  if (n <= 0) return;
  const WalkOperand& o = walk.operands[static_cast<size_t>(operand)];
  visit_compute(compute, [&]<class C>(Tag<C>) {
    visit_dtype(o.dtype, [&]<class T>(Tag<T>) {
      const T* data = reinterpret_cast<const T*>(o.data);
      C* to = static_cast<C*>(buffer);
      for_runs(walk, operand, start, n, [&](int64_t offset, int64_t at, int64_t length, int64_t stride) {
        copy_run(to + at, 1, data + offset, stride, length);
      });
    });
  });
}

void store(const Walk& walk, int operand, int64_t start, int64_t n, DType compute, const void* buffer) {
  if (n <= 0) return;
  const WalkOperand& o = walk.operands[static_cast<size_t>(operand)];
  visit_compute(compute, [&]<class C>(Tag<C>) {
    visit_dtype(o.dtype, [&]<class T>(Tag<T>) {
      T* data = reinterpret_cast<T*>(o.data);
      const C* from = static_cast<const C*>(buffer);
      for_runs(walk, operand, start, n, [&](int64_t offset, int64_t at, int64_t length, int64_t stride) {
        copy_run(data + offset, stride, from + at, 1, length);
      });
    });
  });
}

}  // namespace tantu::cpu
