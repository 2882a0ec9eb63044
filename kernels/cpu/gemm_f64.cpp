#include <tantu/kernels/cpu/gemm_impl.h>

template void tantu::cpu::gemm(int64_t, int64_t, int64_t, double, const double*, int64_t, int64_t, const double*,
                               int64_t, int64_t, double, double*, int64_t);
