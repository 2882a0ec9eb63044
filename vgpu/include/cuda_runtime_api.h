/// The virtual GPU's stand-in for CUDA's header of this name: the host functions of the runtime.
/// Semantics are CUDA's; what is absent and what is stricter is said in vgpu/README.md.
#pragma once
#include <vgpu/runtime_types.h>

#define CUDART_VERSION 12040

inline namespace vgpu_abi {

// Devices
VGPU_API cudaError_t cudaGetDeviceCount(int* count);
VGPU_API cudaError_t cudaSetDevice(int device);
VGPU_API cudaError_t cudaGetDevice(int* device);
VGPU_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device);
VGPU_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device);
VGPU_API cudaError_t cudaDeviceSynchronize();
VGPU_API cudaError_t cudaDeviceReset();
VGPU_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
VGPU_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
VGPU_API cudaError_t cudaDriverGetVersion(int* version);
VGPU_API cudaError_t cudaRuntimeGetVersion(int* version);
VGPU_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
VGPU_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
VGPU_API cudaError_t cudaDeviceDisablePeerAccess(int peer);

// Errors
VGPU_API cudaError_t cudaGetLastError();
VGPU_API cudaError_t cudaPeekAtLastError();
VGPU_API const char* cudaGetErrorName(cudaError_t error);
VGPU_API const char* cudaGetErrorString(cudaError_t error);

// Memory
VGPU_API cudaError_t cudaMalloc(void** ptr, size_t bytes);
VGPU_API cudaError_t cudaFree(void* ptr);
VGPU_API cudaError_t cudaMallocAsync(void** ptr, size_t bytes, cudaStream_t stream);
VGPU_API cudaError_t cudaFreeAsync(void* ptr, cudaStream_t stream);
VGPU_API cudaError_t cudaMallocHost(void** ptr, size_t bytes, unsigned flags = 0);
VGPU_API cudaError_t cudaHostAlloc(void** ptr, size_t bytes, unsigned flags);
VGPU_API cudaError_t cudaFreeHost(void* ptr);
VGPU_API cudaError_t cudaHostRegister(void* ptr, size_t bytes, unsigned flags);
VGPU_API cudaError_t cudaHostUnregister(void* ptr);
VGPU_API cudaError_t cudaMallocManaged(void** ptr, size_t bytes, unsigned flags = cudaMemAttachGlobal);
VGPU_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr);

// Copies
VGPU_API cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind);
VGPU_API cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                                     cudaStream_t stream = nullptr);
VGPU_API cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
VGPU_API cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device, size_t bytes,
                                         cudaStream_t stream = nullptr);
VGPU_API cudaError_t cudaMemset(void* dst, int value, size_t bytes);
VGPU_API cudaError_t cudaMemsetAsync(void* dst, int value, size_t bytes, cudaStream_t stream = nullptr);

// Streams and events
VGPU_API cudaError_t cudaStreamCreate(cudaStream_t* stream);
VGPU_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
VGPU_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
VGPU_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
VGPU_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
VGPU_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
VGPU_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
VGPU_API cudaError_t cudaStreamQuery(cudaStream_t stream);
VGPU_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
VGPU_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* user);
VGPU_API cudaError_t cudaEventCreate(cudaEvent_t* event);
VGPU_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
VGPU_API cudaError_t cudaEventDestroy(cudaEvent_t event);
VGPU_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
VGPU_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
VGPU_API cudaError_t cudaEventQuery(cudaEvent_t event);
VGPU_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// Functions
VGPU_API cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attr, int value);
VGPU_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
VGPU_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size,
                                                                   size_t dynamic_smem);

// Driver functions: those of <cuda.h>
VGPU_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status = nullptr);
VGPU_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                                      unsigned long long flags,
                                                      cudaDriverEntryPointQueryResult* status = nullptr);

}  // namespace vgpu_abi
