#include <tantu/kernels/index.h>

#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/index_reader.h>
#include <tantu/kernels/cpu/strided_copy.h>

#include <cstring>

namespace tantu {

namespace {

using cpu::IndexReader;

constexpr int64_t kChunk = 1024, kWork = 65536;

// The dimensions of a block, those before the index and those after it, merged; strides in the indexed tensor and in
// the other operand.
struct Blocks {
  Shape outer, inner;
  Strides outer_tensor, outer_other, inner_tensor, inner_other;
  int64_t outer_count, inner_count;
  bool packed;  // the inner block is one run on both sides

  Blocks(const IndexPlan& plan, const ConstView& tensor, const ConstView& other) {
    const int rank = tensor.rank(), shift = plan.sizes.size();
    for (int d = 0; d < rank; ++d) {
      const bool is_outer = d < plan.before;
      (is_outer ? outer : inner).push_back(tensor.sizes[d]);
      (is_outer ? outer_tensor : inner_tensor).push_back(tensor.strides[d]);
      (is_outer ? outer_other : inner_other).push_back(other.strides[is_outer ? d : d + shift]);
    }
    Strides* const outer_strides[] = {&outer_tensor, &outer_other};
    Strides* const inner_strides[] = {&inner_tensor, &inner_other};
    cpu::collapse(outer, outer_strides, 2);
    cpu::collapse(inner, inner_strides, 2);
    outer_count = numel(outer);
    inner_count = numel(inner);
    packed = inner.empty() || (inner.size() == 1 && inner_tensor[0] == 1 && inner_other[0] == 1);
  }
};

// Calls f(inner offsets of both sides, n, steps of both sides) for the runs of one inner block.
template <class F>
void for_block(const Blocks& blocks, F&& f) {
  const int last = blocks.inner.size() - 1;
  const int64_t step_tensor = last < 0 ? 1 : blocks.inner_tensor[last],
                step_other = last < 0 ? 1 : blocks.inner_other[last];
  cpu::for_runs(blocks.inner, blocks.inner_tensor, blocks.inner_other, 0, blocks.inner_count,
                [&](int64_t a, int64_t b, int64_t n) { f(a, b, n, step_tensor, step_other); });
}

Strides other_strides(const IndexPlan& plan, const ConstView& other) {
  Strides strides;
  for (int d = 0; d < plan.sizes.size(); ++d) strides.push_back(other.strides[plan.before + d]);
  return strides;
}

// Positions a chunk of work covers: about 16 K elements, at most kChunk positions.
int64_t chunk_length(const Blocks& blocks) {
  return std::clamp<int64_t>(16384 / std::max<int64_t>(1, blocks.inner_count), 1, kChunk);
}

template <class T>
void take(const IndexReader& reader, const Blocks& blocks, const T* x, T* y) {
  const int64_t length = chunk_length(blocks), chunks = (reader.count() + length - 1) / length;
  // Each unit reads its indices once and serves a group of outer positions.
  const int64_t group = std::clamp<int64_t>(kWork / (length * blocks.inner_count), 1, blocks.outer_count);
  const int64_t groups = (blocks.outer_count + group - 1) / group;
  const int64_t unit_work = std::min(length, reader.count()) * group * blocks.inner_count;
  parallel_for(0, groups * chunks, std::max<int64_t>(1, kWork / unit_work), [&](int64_t begin, int64_t end) {
    int64_t from[kChunk], to[kChunk];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t start = unit % chunks * length, n = std::min(length, reader.count() - start);
      const int64_t first = unit / chunks * group, outers = std::min(group, blocks.outer_count - first);
      reader.positions(start, n, from);
      reader.others(start, n, to);
      cpu::for_runs(
          blocks.outer, blocks.outer_tensor, blocks.outer_other, first, outers, [&](int64_t a, int64_t b, int64_t run) {
            const int last = blocks.outer.size() - 1;
            for (int64_t o = 0; o < run;
                 ++o, a += last < 0 ? 0 : blocks.outer_tensor[last], b += last < 0 ? 0 : blocks.outer_other[last]) {
              if (blocks.inner_count == 1) {
                for (int64_t j = 0; j < n; ++j) y[b + to[j]] = x[a + from[j]];
              } else if (blocks.packed) {
                for (int64_t j = 0; j < n; ++j)
                  std::memcpy(y + b + to[j], x + a + from[j], static_cast<size_t>(blocks.inner_count) * sizeof(T));
              } else {
                for (int64_t j = 0; j < n; ++j)
                  for_block(blocks, [&](int64_t p, int64_t q, int64_t count, int64_t step_x, int64_t step_y) {
                    for (int64_t i = 0; i < count; ++i) y[b + to[j] + q + i * step_y] = x[a + from[j] + p + i * step_x];
                  });
              }
            }
          });
    }
  });
}

// write(T& cell, T value) for n positions, at one outer position.
template <class T, class Write>
void put_chunk(const Blocks& blocks, T* y, const T* values, const int64_t* to, const int64_t* from, int64_t n,
               Write write) {
  const int64_t size = blocks.inner_count;
  if (size == 1) {
    for (int64_t j = 0; j < n; ++j) write(y[to[j]], values[from[j]]);
  } else if (blocks.packed) {
    for (int64_t j = 0; j < n; ++j) {
      T* cell = y + to[j];
      const T* value = values + from[j];
      for (int64_t i = 0; i < size; ++i) write(cell[i], value[i]);
    }
  } else {
    for (int64_t j = 0; j < n; ++j)
      for_block(blocks, [&](int64_t p, int64_t q, int64_t count, int64_t step_y, int64_t step_v) {
        for (int64_t i = 0; i < count; ++i) write(y[to[j] + p + i * step_y], values[from[j] + q + i * step_v]);
      });
  }
}

// Keeps the positions whose offset lies in [low, high); returns how many.
int64_t keep_range(int64_t* to, int64_t* from, int64_t n, int64_t low, int64_t high) {
  int64_t kept = 0;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t t = to[j], f = from[j];
    to[kept] = t;
    from[kept] = f;
    kept += t >= low && t < high ? 1 : 0;
  }
  return kept;
}

// Threads share the outer positions, or else the offsets in y: a cell belongs to one part and meets its values in
// order.
template <class T, class Write>
void put(const IndexReader& reader, const Blocks& blocks, const T* values, T* y, Write write) {
  const int64_t work = reader.count() * blocks.outer_count * blocks.inner_count;
  const int64_t parts = work < kWork ? 1 : get_num_threads();
  const bool by_outer = blocks.outer_count >= parts;
  const int64_t extent = reader.extent(), width = (extent + parts - 1) / parts;
  parallel_for(0, parts, 1, [&](int64_t part, int64_t) {
    const int64_t low = by_outer ? 0 : part * width, high = by_outer ? extent : low + width;
    const int64_t first = by_outer ? blocks.outer_count * part / parts : 0;
    const int64_t last = by_outer ? blocks.outer_count * (part + 1) / parts : blocks.outer_count;
    int64_t to[kChunk], from[kChunk];
    for (int64_t start = 0; start < reader.count(); start += kChunk) {
      int64_t n = std::min(kChunk, reader.count() - start);
      reader.positions(start, n, to);
      reader.others(start, n, from);
      if (!by_outer) n = keep_range(to, from, n, low, high);
      cpu::for_runs(blocks.outer, blocks.outer_tensor, blocks.outer_other, first, last - first,
                    [&](int64_t a, int64_t b, int64_t run) {
                      const int inner = blocks.outer.size() - 1;
                      for (int64_t o = 0; o < run; ++o)
                        put_chunk(blocks, y + a + (inner < 0 ? 0 : o * blocks.outer_tensor[inner]),
                                  values + b + (inner < 0 ? 0 : o * blocks.outer_other[inner]), to, from, n, write);
                    });
    }
  });
}

void check_all(const IndexReader& reader) {
  parallel_for(0, reader.count(), kWork, [&](int64_t begin, int64_t end) {
    for (int64_t start = begin; start < end; start += kChunk) reader.check(start, std::min(kChunk, end - start));
  });
}

}  // namespace

void index_take(CpuContext&, const IndexPlan& plan, ConstView x, View y) {
  const Blocks blocks(plan, x, y);
  const IndexReader reader(plan, other_strides(plan, y));
  if (blocks.outer_count * blocks.inner_count == 0) return check_all(reader);
  if (reader.count() == 0) return;
  cpu::visit_size(item_size(x.dtype), [&]<class T>(Tag<T>) { take(reader, blocks, x.as<T>(), y.as<T>()); });
}

void index_put(CpuContext&, const IndexPlan& plan, ConstView values, View y, bool accumulate) {
  const Blocks blocks(plan, y, values);
  const IndexReader reader(plan, other_strides(plan, values));
  check_all(reader);
  if (reader.count() * blocks.outer_count * blocks.inner_count == 0) return;
  if (!accumulate) {
    cpu::visit_size(item_size(y.dtype), [&]<class T>(Tag<T>) {
      put(reader, blocks, values.as<T>(), y.as<T>(), [](T& cell, T value) { cell = value; });
    });
    return;
  }
  TANTU_CHECK(!is_half(y.dtype), DTypeError, "{}: {} does not accumulate in place", plan.op, y.dtype);
  visit_dtype(y.dtype, [&]<class T>(Tag<T>) {
    put(reader, blocks, values.as<T>(), y.as<T>(), [](T& cell, T value) {
      if constexpr (std::is_same_v<T, bool>) cell = cell || value;
      else cell = static_cast<T>(cell + value);
    });
  });
}

}  // namespace tantu
