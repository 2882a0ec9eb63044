/// The virtual GPU's stand-in for NCCL's header: ranks are host threads, or one thread with groups, each on a virtual
/// device of its own. Stricter than NCCL: mismatched calls fail on all ranks with a table, send and recv outside a
/// group have no buffering, and a wait that can never end is reported as who waits for whom.
#pragma once
#include <cuda_runtime_api.h>

#define NCCL_MAJOR 2
#define NCCL_MINOR 20
#define NCCL_PATCH 0
#define NCCL_VERSION_CODE 22000
#define NCCL_UNIQUE_ID_BYTES 128

inline namespace vgpu_abi {

struct ncclComm;
using ncclComm_t = ncclComm*;
struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};
enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
};
enum ncclRedOp_t { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 };
enum ncclDataType_t {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9
};

VGPU_API ncclResult_t ncclGetVersion(int* version);
VGPU_API ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
VGPU_API const char* ncclGetErrorString(ncclResult_t result);
VGPU_API const char* ncclGetLastError(ncclComm_t comm);

VGPU_API ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank);
VGPU_API ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ndev, const int* devices);
VGPU_API ncclResult_t ncclCommCount(ncclComm_t comm, int* count);
VGPU_API ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);
VGPU_API ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device);
VGPU_API ncclResult_t ncclCommFinalize(ncclComm_t comm);
VGPU_API ncclResult_t ncclCommDestroy(ncclComm_t comm);
VGPU_API ncclResult_t ncclCommAbort(ncclComm_t comm);
VGPU_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);

VGPU_API ncclResult_t ncclGroupStart();
VGPU_API ncclResult_t ncclGroupEnd();

VGPU_API ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                    ncclComm_t comm, cudaStream_t stream, VGPU_HERE);
VGPU_API ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t recvcount, ncclDataType_t type,
                                        ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream, VGPU_HERE);
VGPU_API ncclResult_t ncclAllGather(const void* send, void* recv, size_t sendcount, ncclDataType_t type,
                                    ncclComm_t comm, cudaStream_t stream, VGPU_HERE);
VGPU_API ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                                    ncclComm_t comm, cudaStream_t stream, VGPU_HERE);
VGPU_API ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                 int root, ncclComm_t comm, cudaStream_t stream, VGPU_HERE);
VGPU_API ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                               cudaStream_t stream, VGPU_HERE);
VGPU_API ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                               cudaStream_t stream, VGPU_HERE);

namespace vgpu {
/// Faults for tests: from its `at_seq`-th call on (0 = next issued of all), the rank is gone, hangs, or is late by so
/// many polls. nccl_reset_faults() clears all of them.
VGPU_API void nccl_kill(int rank, uint64_t at_seq);
VGPU_API void nccl_hang(int rank, uint64_t at_seq);
VGPU_API void nccl_delay(int rank, int polls);
VGPU_API void nccl_hang_abort();
VGPU_API void nccl_reset_faults();
VGPU_API void set_nccl_timeout(double seconds);
}  // namespace vgpu

}  // namespace vgpu_abi
