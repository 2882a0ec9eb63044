#pragma once

#include <tantu/core/gpu/index_report.h>
#include <tantu/kernels/arch.cuh>

namespace tantu {
namespace {

/// Leaves a note of the bad index `value` at `position`, if it is the first since the last note was read. `size` and
/// `dim` stand for the report's.
__device__ __forceinline__ void report_bad_index(const gpu::IndexReport& report, int64_t value, int64_t position,
                                                 int64_t size, int dim) {
  gpu::IndexRecord* record = report.record;
  if (atomicCAS_system(&record->state, 0u, 1u) != 0u) return;
  record->what = report;
  record->what.size = size;
  record->what.dim = dim;
  record->value = value;
  record->position = position;
  __threadfence_system();
  atomicExch_system(&record->state, 2u);
}

__device__ __forceinline__ void report_bad_index(const gpu::IndexReport& report, int64_t value, int64_t position) {
  report_bad_index(report, value, position, report.size, report.dim);
}

}  // namespace
}  // namespace tantu
