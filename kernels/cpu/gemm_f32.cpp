#include <tantu/kernels/cpu/gemm_impl.h>

template void tantu::cpu::gemm(int64_t, int64_t, int64_t, float, const float*, int64_t, int64_t, const float*, int64_t,
                               int64_t, float, float*, int64_t);
