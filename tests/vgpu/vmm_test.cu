// Virtual-memory calls: reserve addresses, map pieces, use neighbours as one range, unmap.
#include "vgpu_test.h"

#include <cuda.h>

#include <cmath>

using namespace vgpu_test;

namespace {
__global__ void ramp(float* p, long n) {
  for (long i = threadIdx.x; i < n; i += blockDim.x) p[i] = static_cast<float>(i);
}
}  // namespace

TEST_CASE("address ranges grow and shrink piece by piece") {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult status;
  CUDA_OK(cudaGetDriverEntryPoint("cuMemCreate", &entry, cudaEnableDefault, &status));
  REQUIRE(entry == reinterpret_cast<void*>(&cuMemCreate));
  CUDA_OK(cudaGetDriverEntryPoint("cuNothing", &entry, cudaEnableDefault, &status));
  REQUIRE(status == cudaDriverEntryPointSymbolNotFound);

  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t page = 0, free = 0, after = 0, total = 0;
  REQUIRE(cuMemGetAllocationGranularity(&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS);
  REQUIRE(page == 2 << 20);
  CUDA_OK(cudaMemGetInfo(&free, &total));
  CUdeviceptr base = 0;
  REQUIRE(cuMemAddressReserve(&base, total / page * page * 9 / 8 / page * page, 0, 0, 0) == CUDA_SUCCESS);
  float* p = reinterpret_cast<float*>(base);
  CUDA_IS(launch(ramp, 1, 32, p, 4), 700);  // reserved, not mapped
  cudaDeviceReset();
  REQUIRE(cuMemAddressReserve(&base, 8 * page, 0, 0, 0) == CUDA_SUCCESS);
  p = reinterpret_cast<float*>(base);

  CUmemGenericAllocationHandle a = 0, b = 0, c = 0;
  REQUIRE(cuMemCreate(&a, page, &prop, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemCreate(&b, page, &prop, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemCreate(&c, total, &prop, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CUDA_OK(cudaMemGetInfo(&after, &total));
  REQUIRE(free - after == 2 * page);
  REQUIRE(cuMemMap(base, page, 0, a, 0) == CUDA_SUCCESS);
  REQUIRE(cuMemMap(base, page, 0, b, 0) == CUDA_ERROR_INVALID_VALUE);  // taken
  REQUIRE(cuMemMap(base + page, page, 0, b, 0) == CUDA_SUCCESS);
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  REQUIRE(cuMemSetAccess(base, 2 * page, &access, 1) == CUDA_SUCCESS);
  REQUIRE(cuMemSetAccess(base, 3 * page, &access, 1) == CUDA_ERROR_INVALID_VALUE);

  const long n = static_cast<long>(2 * page / sizeof(float));
  std::vector<float> v(static_cast<size_t>(n));
  CUDA_OK(cudaMemcpy(v.data(), p, 2 * page, cudaMemcpyDeviceToHost));
  REQUIRE(std::isnan(v[0]));
  CUDA_OK(launch(ramp, 1, 256, p, n));
  CUDA_OK(cudaMemcpy(v.data(), p, 2 * page, cudaMemcpyDeviceToHost));  // one copy over both pieces
  REQUIRE(v[static_cast<size_t>(n - 1)] == static_cast<float>(n - 1));
  CUDA_IS(cudaMemcpy(v.data(), p + 1, 2 * page, cudaMemcpyDeviceToHost), 1);

  REQUIRE(cuMemUnmap(base + page, page) == CUDA_SUCCESS);
  REQUIRE(cuMemRelease(b) == CUDA_SUCCESS);
  REQUIRE(cuMemRelease(b) == CUDA_ERROR_INVALID_VALUE);
  CUDA_IS(cudaMemcpy(v.data(), p, 2 * page, cudaMemcpyDeviceToHost), 1);
  REQUIRE(cuMemAddressFree(base, 8 * page) == CUDA_ERROR_INVALID_VALUE);  // still in use
  REQUIRE(cuMemUnmap(base, page) == CUDA_SUCCESS);
  REQUIRE(cuMemRelease(a) == CUDA_SUCCESS);
  REQUIRE(cuMemAddressFree(base, 8 * page) == CUDA_SUCCESS);
  CUDA_OK(cudaMemGetInfo(&after, &total));
  REQUIRE(after == free);
  cudaGetLastError();
}
