/// Communicators and their queued calls. A call is done when its partners' calls are at the heads of their streams.
#pragma once
#include <nccl.h>

#include "runtime.h"

inline namespace vgpu_abi {
namespace vgpu::rt {

struct NcclOp;
struct Clique;

struct Call {
  enum Kind { all_reduce, reduce_scatter, all_gather, broadcast, reduce, send, recv } kind;
  const void* in;
  void* out;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer;  ///< root, or the other side of send and recv
  ncclComm_t comm;
  Site site;
  uint64_t seq = 0;  ///< number among the communicator's collectives, or among the messages of this pair
  NcclOp* holder = nullptr;
  bool done = false;
  bool is_collective() const { return kind < send; }
};
}  // namespace vgpu::rt

struct ncclComm {
  vgpu::rt::Clique* clique;
  int rank;
  vgpu::rt::Device* device;
  uint64_t collectives = 0;
  std::map<int, uint64_t> sent, received;  ///< by peer
  uint64_t issued = 0;
  int delayed = 0;
  bool aborted = false;
  ncclResult_t error = ncclSuccess;
};

namespace vgpu::rt {

/// The ranks that share a unique id.
struct Clique {
  int nranks = 0, joined = 0;
  std::vector<ncclComm_t> ranks;
  std::set<std::thread::id> users;
  ncclResult_t failed = ncclSuccess;
  std::string why;
  std::vector<std::shared_ptr<Call>> pending;  ///< issued and not done, all ranks
};

/// What one group, or one ungrouped call, put on one stream.
struct NcclOp final : Op {
  std::vector<std::shared_ptr<Call>> calls;
  Clique* clique = nullptr;
  ncclComm_t comm = nullptr;
  bool hung = false;
  bool ready() override;
  Stream* waits_for() override;
  cudaError_t run() override;
  void finished() override;
  double cost() override;
};

/// The calls that must meet with this one, itself included; empty if some are not issued yet.
std::vector<Call*> partners(const Clique& clique, const Call& call);
/// Moves and reduces the data of calls that have met.
void transfer(const std::vector<Call*>& met);
size_t nccl_bytes(ncclDataType_t type);
const char* nccl_name(Call::Kind kind);
/// Whether some rank is late on purpose.
bool any_delay();
/// All ranks of the clique fail; their waiting operations end with error 719.
void fail_clique(Clique& clique, ncclResult_t result, const std::string& why);

}  // namespace vgpu::rt
}  // namespace vgpu_abi
