#pragma once

#include <tantu/core/dims.h>

#include <gpu_target.h>

#include <cstdint>

// Bad indices that a kernel meets. A kernel cannot throw: it skips the access, leaves a note in the device's record
// (the first note stays), and the next call that waits for the device throws it as an IndexError in the CPU's words.
namespace tantu::gpu {

struct IndexRecord;

/// What a kernel needs in order to report, passed to it by value.
struct IndexReport {
  IndexRecord* record;
  const char* text;  ///< fmt text of {0} op, {1} value, {2} position, {3} size, {4} dim; lives as long as the process
  const char* op;    ///< likewise
  int64_t size;      ///< indices are below it
  int dim;
  int rank;
  int64_t sizes[kMaxDims];  ///< of the index tensor: positions are shown in them
};

/// In host memory that the device writes: reading it costs the host nothing.
struct IndexRecord {
  unsigned state;  ///< 0 empty, 1 being written, 2 whole
  IndexReport what;
  int64_t value, position;
};

/// The record of a context's device, made when it is first asked for.
IndexRecord* index_record(const GpuContext& ctx);

inline IndexReport index_report(const GpuContext& ctx, const char* text, const char* op, const Shape& positions,
                                int64_t size, int dim = 0) {
  IndexReport report{index_record(ctx), text, op, size, dim, positions.size(), {}};
  for (int d = 0; d < positions.size(); ++d) report.sizes[d] = positions[d];
  return report;
}

/// Throws what the device's kernels reported, once; called when the device's work is known to be done.
void throw_reported_index(int device);

}  // namespace tantu::gpu
