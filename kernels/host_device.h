#pragma once

/// Marks a function that kernels and the host both call.
#ifdef __CUDACC__
#define TANTU_HD __host__ __device__
#else
#define TANTU_HD
#endif
