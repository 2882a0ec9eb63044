#pragma once

// y = row(a, b, c), and the rows' derivatives, for every row of kernels/pointwise.def.
//
// Bytes moved: each operand once; a few FLOP an element: bound by the bandwidth. Two ways, equal bit for bit, the
// arithmetic being the row's own text in float, double or int64_t:
//   packs     operands of one floating dtype, each with inner stride 1 or 0, aligned: a thread loads two times 16 bytes
//             of each (once of three) before it computes; inner stride 0 is one number for the whole pack
//   strided   everything else: one thread an element, dtypes looked up per element
// A number among the operands (a view of host memory) travels with the launch.
#include <tantu/kernels/pointwise_rows.h>
#include <tantu/kernels/elementwise.cuh>
#include <tantu/kernels/launch.cuh>
#include <tantu/kernels/strided.cuh>

#include <type_traits>

namespace tantu::pointwise {
namespace {

constexpr int kThreads = 256;

template <class T>
using Compute = std::conditional_t<sizeof(T) == 2, float, T>;
template <class T>
constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
template <class T>
constexpr DType kDTypeOf = std::is_same_v<T, float>    ? kFloat32
                           : std::is_same_v<T, double> ? kFloat64
                           : std::is_same_v<T, __half> ? kFloat16
                                                       : kBFloat16;

constexpr int kForward = -1;  // else: the derivative for input 0, 1, 2

/// What a kernel computes: operands 1... of its layout are a, b, c or g, a, b, c, y.
template <Row row, int which>
struct Formula {
  using R = RowOf<row>;
  static constexpr int inputs = which == kForward ? R::arity : 5;
  static constexpr bool to_bool = which == kForward && R::rule == kToBool;

  /// Whether input k may be bool beside floating ones.
  static TANTU_HD constexpr bool condition(int k) { return row == Row::where && k == (which == kForward ? 0 : 1); }

  template <class V>
  static __device__ __forceinline__ auto of(const V (&in)[5], const double* p) {
    if constexpr (which == kForward) {
      const auto r = R::template forward<V>(V(0), in[0], in[1], in[2], V(0), p);
      if constexpr (to_bool) return static_cast<bool>(r);
      else return V(r);
    } else if constexpr (which == 0) return V(R::template da<V>(in[0], in[1], in[2], in[3], in[4], p));
    else if constexpr (which == 1) return V(R::template db<V>(in[0], in[1], in[2], in[3], in[4], p));
    else return V(R::template dc<V>(in[0], in[1], in[2], in[3], in[4], p));
  }
};

/// The inputs that are numbers; in the layout they are absent.
template <class C, int N>
struct Numbers {
  unsigned set = 0;  ///< bit k: input k is one
  C values[N] = {};

  /// A row of one operand has a tensor there.
  __device__ __forceinline__ bool has(int k) const { return N > 1 && (set >> k & 1u); }
};

template <Row row, int which, class C>
__global__ void __launch_bounds__(kThreads)
    pointwise_strided_kernel(Layout<Formula<row, which>::inputs + 1> p, int64_t n, Params params,
                             Numbers<C, Formula<row, which>::inputs> numbers) {
  using F = Formula<row, which>;
  using V = math::Real<C>;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[F::inputs + 1];
    offsets_at(p, i, at);
    V in[5] = {};
#pragma unroll
    for (int k = 0; k < F::inputs; ++k)
      if (numbers.has(k)) in[k] = V::of(numbers.values[k]);
      else if (which == kForward || p.operands[k + 1].data)  // what a derivative does not use is absent
        in[k] = V::of(load_as<C>(p.operands[k + 1].data, p.operands[k + 1].dtype, at[k + 1]));
    const auto r = F::template of<V>(in, params.values);
    if constexpr (F::to_bool) store_as<int64_t>(p.operands[0].data, p.operands[0].dtype, at[0], r ? 1 : 0);
    else store_as<C>(p.operands[0].data, p.operands[0].dtype, at[0], r.v);
  }
}

/// One pack of every input, or of an input with inner stride 0 its one number, and where the result goes. What is
/// loaded stays in whole words until it is computed with: nothing in `load` waits, so the next pack's loads come right
/// behind.
template <Row row, int which, class T>
struct Packs {
  using F = Formula<row, which>;
  using V = math::Real<Compute<T>>;
  static constexpr int width = kWidth<T>;
  using Out = std::conditional_t<F::to_bool, bool, T>;
  using Words = Pack<uint32_t, 4>;
  using Places = Layout<F::inputs + 1>;

  Words words[F::inputs];  // of a condition that is bool: its first `width` bytes
  T single[F::inputs];
  int64_t to;

  static __device__ __forceinline__ bool runs(const Places& p, int k) {
    return p.operands[k + 1].strides[p.rank - 1] != 0;
  }
  static __device__ __forceinline__ bool is_bool(const Places& p, int k) {
    return F::condition(k) && p.operands[k + 1].dtype == DType::Bool;
  }

  __device__ __forceinline__ void load(const Places& p, int64_t index) {
    int64_t at[F::inputs + 1];
    small_offsets_at(p, index, at);
    to = at[0];
#pragma unroll
    for (int k = 0; k < F::inputs; ++k) {
      const auto& o = p.operands[k + 1];
      if (!o.data) continue;
      if (is_bool(p, k)) {
        const char* from = o.data + at[k + 1];
        Pack<char, width> bytes = {};
        if (runs(p, k)) bytes = *reinterpret_cast<const Pack<char, width>*>(from);
        else bytes.v[0] = *from;
        __builtin_memcpy(&words[k], &bytes, width);
      } else {
        const T* from = reinterpret_cast<const T*>(o.data) + at[k + 1];
        if (runs(p, k)) words[k] = *reinterpret_cast<const Words*>(from);
        else single[k] = *from;
      }
    }
  }

  __device__ __forceinline__ Pack<T, width> input(const Places& p, int k) const {
    Pack<T, width> pack;
    if (is_bool(p, k)) {
      Pack<char, width> bytes;
      __builtin_memcpy(&bytes, &words[k], width);
#pragma unroll
      for (int j = 0; j < width; ++j) {
        const char truth = runs(p, k) ? bytes.v[j] : bytes.v[0];
        pack.v[j] = value_from<T>(truth ? 1.0f : 0.0f);
      }
      return pack;
    }
#pragma unroll
    for (int j = 0; j < width; ++j) pack.v[j] = single[k];
    Words chosen;
    __builtin_memcpy(&chosen, &pack, 16);
#pragma unroll
    for (int j = 0; j < 4; ++j) chosen.v[j] = runs(p, k) ? words[k].v[j] : chosen.v[j];
    __builtin_memcpy(&pack, &chosen, 16);
    return pack;
  }

  __device__ __forceinline__ void store(const Places& p, const double* params,
                                        const Numbers<Compute<T>, F::inputs>& numbers) const {
    Pack<T, width> in[F::inputs] = {};
#pragma unroll
    for (int k = 0; k < F::inputs; ++k)
      if (p.operands[k + 1].data) in[k] = input(p, k);
    Pack<Out, width> out;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      V x[5] = {};
#pragma unroll
      for (int k = 0; k < F::inputs; ++k)
        if (numbers.has(k)) x[k] = V::of(numbers.values[k]);
        else if (which == kForward || p.operands[k + 1].data) x[k] = V::of(value_as<Compute<T>>(in[k].v[j]));
      const auto r = F::template of<V>(x, params);
      if constexpr (F::to_bool) out.v[j] = r;
      else out.v[j] = value_from<T>(r.v);
    }
    *reinterpret_cast<Pack<Out, width>*>(reinterpret_cast<Out*>(p.operands[0].data) + to) = out;
  }
};

/// Packs that a thread loads before it computes: three operands of one are as many bytes as two of two.
template <Row row>
constexpr int kAtOnce = RowOf<row>::arity == 3 ? 1 : 2;

/// The layout counts packs along its innermost dimension.
template <Row row, int which, class T>
__global__ void __launch_bounds__(kThreads)
    pointwise_packs_kernel(Layout<Formula<row, which>::inputs + 1> p, int64_t packs, Params params,
                           Numbers<Compute<T>, Formula<row, which>::inputs> numbers) {
  constexpr int N = kAtOnce<row>;
  for (int64_t i = thread_number(); i < packs; i += N * thread_count()) {
    Packs<row, which, T> some[N] = {};
#pragma unroll
    for (int m = 0; m < N; ++m)
      if (i + m * thread_count() < packs) some[m].load(p, i + m * thread_count());
#pragma unroll
    for (int m = 0; m < N; ++m)
      if (i + m * thread_count() < packs) some[m].store(p, params.values, numbers);
  }
}

/// Rewrites `p` in packs of `width` elements where that can be done; what one dimension has beyond whole packs is left
/// to `rest`.
template <class F, class T, int N>
bool to_packs(Layout<N>& p, Layout<N>& rest) {
  constexpr int64_t width = kWidth<T>;
  const int inner = p.rank - 1;
  if (p.rank == 0 || p.sizes[inner] < width) return false;
  const int64_t over = p.sizes[inner] % width, whole = p.sizes[inner] - over;
  if (over && p.rank > 1) return false;
  for (int k = 0; k < N; ++k) {
    auto& o = p.operands[k];
    if (!o.data) continue;
    const bool is_bool = k == 0 ? F::to_bool : F::condition(k - 1) && o.dtype == kBool;
    if (o.dtype != (is_bool ? kBool : kDTypeOf<T>)) return false;
    if (o.strides[inner] == 0 && k > 0) continue;
    if (o.strides[inner] != 1 || !is_aligned(o.data, is_bool ? width : 16)) return false;
    for (int d = 0; d < inner; ++d)
      if (o.strides[d] % width != 0) return false;
  }
  rest.sizes[inner] = over;
  for (auto& o : rest.operands)
    if (o.data) o.data += whole * o.strides[inner] * item_size(o.dtype);
  p.sizes[inner] = whole / width;
  for (auto& o : p.operands) o.strides[inner] *= width;
  settle(p);
  return p.small || p.rank == 1;
}

template <Row row, int which, class C>
void run_strided(GpuContext& ctx, const Layout<Formula<row, which>::inputs + 1>& p, int64_t n, const Params& params,
                 const Numbers<C, Formula<row, which>::inputs>& numbers) {
  launch(ctx, RowOf<row>::label, pointwise_strided_kernel<row, which, C>, blocks_for(n, kThreads),
         threads_for(n, kThreads), 0, p, n, params, numbers);
}

template <Row row, int which, class T>
bool run_packs(GpuContext& ctx, const Layout<Formula<row, which>::inputs + 1>& all, const Params& params,
               const Numbers<Compute<T>, Formula<row, which>::inputs>& numbers) {
  auto p = all, rest = all;
  if (!to_packs<Formula<row, which>, T>(p, rest)) return false;
  const int64_t packs = p.numel(), over = rest.sizes[rest.rank - 1];
  launch(ctx, RowOf<row>::label, pointwise_packs_kernel<row, which, T>,
         blocks_for((packs + kAtOnce<row> - 1) / kAtOnce<row>, kThreads), threads_for(packs, kThreads), 0, p, packs,
         params, numbers);
  if (p.rank == 1 && over) run_strided<row, which, Compute<T>>(ctx, rest, over, params, numbers);
  return true;
}

/// Takes the numbers out of `views`.
template <class C, int N>
Numbers<C, N> take_numbers(ConstView* views) {
  Numbers<C, N> numbers;
  for (int k = 0; k < N; ++k) {
    ConstView& v = views[k + 1];
    if (!v.data || !v.device.is_cpu()) continue;
    numbers.set |= 1u << k;
    numbers.values[k] =
        visit_dtype(v.dtype, [&]<class T>(Tag<T>) { return static_cast<C>(static_cast<acc_t<T>>(*v.as<T>())); });
    v.data = nullptr;
  }
  return numbers;
}

/// views: the output, then the inputs.
template <Row row, int which, class C>
void run(GpuContext& ctx, ConstView* views, int64_t n, const Params& params) {
  const auto numbers = take_numbers<C, Formula<row, which>::inputs>(views);
  const auto p = make_layout<Formula<row, which>::inputs + 1>(views, Formula<row, which>::inputs + 1);
  if constexpr (std::is_same_v<C, float>) {
    if (run_packs<row, which, float>(ctx, p, params, numbers) ||
        run_packs<row, which, __half>(ctx, p, params, numbers) ||
        run_packs<row, which, __nv_bfloat16>(ctx, p, params, numbers))
      return;
  } else if constexpr (std::is_same_v<C, double>) {
    if (run_packs<row, which, double>(ctx, p, params, numbers)) return;
  }
  run_strided<row, which, C>(ctx, p, n, params, numbers);
}

using Launcher = void (*)(GpuContext&, ConstView*, int64_t, const Params&);

struct GpuRow {
  int arity = 0;
  Launcher forward[3] = {};      // float, double, int64_t
  Launcher backward[3][2] = {};  // [input][float, double]
};

template <Row row, int which>
void add_backward(GpuRow& r) {
  if constexpr (RowOf<row>::gradient[which] == kComputed) {
    r.backward[which][0] = run<row, which, float>;
    r.backward[which][1] = run<row, which, double>;
  }
}

template <Row row>
GpuRow gpu_row() {
  using R = RowOf<row>;
  GpuRow r;
  r.arity = R::arity;
  if constexpr (takes_floats(R::rule)) {
    r.forward[0] = run<row, kForward, float>;
    r.forward[1] = run<row, kForward, double>;
  }
  if constexpr (takes_integers(R::rule)) r.forward[2] = run<row, kForward, int64_t>;
  add_backward<row, 0>(r);
  if constexpr (R::arity > 1) add_backward<row, 1>(r);
  if constexpr (R::arity > 2) add_backward<row, 2>(r);
  return r;
}

}  // namespace

/// Puts the launchers of rows [8 * Shard, 8 * Shard + 8) into `rows` (an array of GpuRow). Defined in the generated
/// shards.
template <int Shard>
void fill_gpu_shard(GpuContext* target, void* rows);  // the context only tells the two targets' functions apart

}  // namespace tantu::pointwise
