#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "nccl.h"

inline namespace vgpu_abi {
namespace vgpu::rt {
namespace {

/// 16-bit types are summed in float and rounded once.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, float, T>;

template <class W>
W combine(ncclRedOp_t op, W a, W b) {
  switch (op) {
    case ncclProd: return static_cast<W>(a * b);
    case ncclMax: return a > b || a != a ? a : b;
    case ncclMin: return a < b || a != a ? a : b;
    default: return static_cast<W>(a + b);
  }
}

/// Rank order with seed 0, else an order of the seed.
std::vector<size_t> order_of(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  uint64_t state = config().seed;
  if (state)
    for (size_t i = count - 1; i > 0; --i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      std::swap(order[i], order[(state >> 33) % (i + 1)]);
    }
  return order;
}

template <class T>
void reduce_into(const std::vector<Call*>& met, size_t offset, size_t count, char* out) {
  const auto order = order_of(met.size());
  const ncclRedOp_t op = met[0]->op;
  auto* to = reinterpret_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) {
    auto at = [&](size_t r) { return static_cast<Wide<T>>(static_cast<const T*>(met[order[r]]->in)[offset + i]); };
    Wide<T> sum = at(0);
    for (size_t r = 1; r < met.size(); ++r) sum = combine(op, sum, at(r));
    if (op == ncclAvg) sum = static_cast<Wide<T>>(sum / static_cast<Wide<T>>(met.size()));
    to[i] = static_cast<T>(sum);
  }
}

std::vector<char> reduced(const std::vector<Call*>& met, size_t offset, size_t count) {
  std::vector<char> out(count * nccl_bytes(met[0]->type));
  switch (met[0]->type) {
    case ncclInt8: reduce_into<int8_t>(met, offset, count, out.data()); break;
    case ncclUint8: reduce_into<uint8_t>(met, offset, count, out.data()); break;
    case ncclInt32: reduce_into<int32_t>(met, offset, count, out.data()); break;
    case ncclUint32: reduce_into<uint32_t>(met, offset, count, out.data()); break;
    case ncclInt64: reduce_into<int64_t>(met, offset, count, out.data()); break;
    case ncclUint64: reduce_into<uint64_t>(met, offset, count, out.data()); break;
    case ncclFloat16: reduce_into<__half>(met, offset, count, out.data()); break;
    case ncclFloat32: reduce_into<float>(met, offset, count, out.data()); break;
    case ncclFloat64: reduce_into<double>(met, offset, count, out.data()); break;
    case ncclBfloat16: reduce_into<__nv_bfloat16>(met, offset, count, out.data()); break;
  }
  return out;
}

void put(void* to, const void* from, size_t bytes) {
  if (bytes) std::memmove(to, from, bytes);
}

}  // namespace

size_t nccl_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 4;
  }
}

/// `met` is in rank order; for a message it is {send, recv}. Every result is computed before any is written, so that
/// in-place calls are right.
void transfer(const std::vector<Call*>& met) {
  const Call& first = *met[0];
  const size_t bytes = first.count * nccl_bytes(first.type);
  switch (first.kind) {
    case Call::all_reduce: {
      auto sum = reduced(met, 0, first.count);
      for (Call* c : met) put(c->out, sum.data(), bytes);
      break;
    }
    case Call::reduce: {
      auto sum = reduced(met, 0, first.count);
      put(met[static_cast<size_t>(first.peer)]->out, sum.data(), bytes);
      break;
    }
    case Call::reduce_scatter: {
      auto sum = reduced(met, 0, first.count * met.size());
      for (size_t r = 0; r < met.size(); ++r) put(met[r]->out, sum.data() + r * bytes, bytes);
      break;
    }
    case Call::all_gather: {
      std::vector<char> all(bytes * met.size());
      for (size_t r = 0; r < met.size(); ++r) put(all.data() + r * bytes, met[r]->in, bytes);
      for (Call* c : met) put(c->out, all.data(), all.size());
      break;
    }
    case Call::broadcast: {
      const void* from = met[static_cast<size_t>(first.peer)]->in;
      for (Call* c : met) put(c->out, from, bytes);
      break;
    }
    case Call::send: put(met[1]->out, first.in, bytes); break;
    case Call::recv: break;
  }
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
