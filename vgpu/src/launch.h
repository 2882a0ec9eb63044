/// One kernel launch while it is queued and executed.
#pragma once
#include <vgpu/launch.h>

#include <atomic>
#include <string>
#include <vector>

inline namespace vgpu_abi {
namespace vgpu::rt {

struct Worker;
struct Module;
struct SharedRange {
  uint64_t offset, size;
  bool tls;
};

struct Launch {
  const void* kernel;
  void (*run)(const void*, const void*);
  void* args;
  dim3 grid, block;
  int threads;
  size_t smem;
  const char* file;
  int line;
  LaunchCaller caller;
  uint64_t number = 0, seed = 0, blocks = 0, stride = 1, offset = 0;
  int share = 1;  ///< number of workers among which the blocks are dealt
  bool chosen = false;
  std::vector<uint64_t> choice;  ///< if chosen: the blocks that run; `blocks` counts these
  Module* module = nullptr;
  const SharedRange* ranges = nullptr;
  size_t range_count = 0;
  std::atomic<int> error{0};

  ~Launch() { ::operator delete(args, std::align_val_t(64)); }
};

/// "launched at softmax.cu:88 by softmax, called at train.cpp:12".
std::string launched_at(const char* file, int line, const LaunchCaller& caller);
/// The kernel's name, demangled; its address if the library has no symbol table.
std::string kernel_name(const void* kernel);
/// Refills static and dynamic shared memory with poison before a block.
void poison_shared(Launch& launch, Worker& worker);
/// Finds the kernel's module and the ranges of its static shared memory.
void prepare_poison(Launch& launch);

}  // namespace vgpu::rt
}  // namespace vgpu_abi
