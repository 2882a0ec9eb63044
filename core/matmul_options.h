#pragma once

#include <tantu/core/export.h>

#include <string_view>

namespace tantu {

/// Who multiplies matrices on a GPU: "cublas" (the default) or "tantu", our own kernels (kernels/matmul_*.cuh), whose
/// results repeat bit for bit. Process-wide, may be changed at any time; the CPU is not concerned. ValueError for any
/// other name.
TANTU_API void set_matmul_backend(std::string_view name);
TANTU_API std::string_view matmul_backend();

/// How float32 products are computed on a GPU: "highest" (the default), in float32; "high", cuBLAS may cut the factors
/// to TF32 (10 bits of fraction; relative error about 1e-3 an element). Our own kernels compute in float32 either way.
/// Process-wide. ValueError for any other name.
TANTU_API void set_float32_matmul_precision(std::string_view name);
TANTU_API std::string_view get_float32_matmul_precision();

}  // namespace tantu
