#pragma once

#include <tantu/core/export.h>

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tantu {

/// How many threads a parallel section may use, its caller included. Until set_num_threads is called this is
/// TANTU_NUM_THREADS, else OMP_NUM_THREADS, else the cores this process may run on. A variable that is not an integer
/// in [1, 1024] is a ValueError that names it (for OMP_NUM_THREADS the first number of a list counts).
TANTU_API int get_num_threads();

/// Sets it, for the whole process and from the next section on. ValueError unless 1 <= threads <= 1024.
TANTU_API void set_num_threads(int threads);

/// True while this thread runs a chunk of a parallel section.
TANTU_API bool in_parallel_section();

namespace detail {

using ChunkFunction = void (*)(void* context, int64_t begin, int64_t end);
TANTU_API void run_chunks(int64_t begin, int64_t end, int64_t grain, ChunkFunction run, void* context);

}  // namespace detail

/// Calls f(b, e) for the chunks [begin, begin + grain), [begin + grain, begin + 2 grain), … of [begin, end): every
/// chunk once, in any order, on any thread of the one process-wide pool; returns when all are done.
///
/// - The cut depends on (begin, end, grain) alone, never on the number of threads: results that are a function of
///   their chunk are the same bits for 1 thread and for 64. Requires grain >= 1 (ValueError).
/// - The caller takes part. It runs everything itself, in order, if there is one chunk or one thread, if it is already
///   inside a section (sections don't nest), or if another thread's section holds the pool: rank threads that call at
///   the same time each get a right answer, and one of them the workers.
/// - What a chunk throws reaches the caller. Chunks not yet begun are then left out; of several exceptions the one of
///   the lowest chunk is kept.
/// - Workers start at the first section that needs them, spin some microseconds after their last chunk, then sleep.
///   A child of fork() starts its own.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  using Function = std::remove_reference_t<F>;
  const auto run = [](void* context, int64_t b, int64_t e) { (*static_cast<Function*>(context))(b, e); };
  detail::run_chunks(begin, end, grain, run, const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace tantu
