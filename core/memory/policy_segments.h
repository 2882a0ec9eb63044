#pragma once

#include <tantu/core/memory/policy.h>

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

namespace tantu::memory {

/// The default: best fit, split and merge. Small requests share segments of 2 MiB, middle ones segments of 20 MiB,
/// large ones have their own. The smallest idle block of the request's stream that is large enough wins, at the lowest
/// address among equals; what is left of it stays idle. A freed block joins its idle neighbours at once. Blocks of
/// another stream serve when that stream is known to be past their release. The scheme is the one of PyTorch's caching
/// allocator.
class TANTU_API SegmentsPolicy final : public Policy {
 public:
  explicit SegmentsPolicy(const Constants& constants = {}) : constants_(constants) {}
  ~SegmentsPolicy() override;

  const char* name() const override { return "segments"; }
  int64_t rounded(int64_t bytes) const override;
  Answer place(const Request& request) override;
  Block* granted(const Request& request, uint64_t address, int64_t size) override;
  void release(Block* block) override;
  void defer(Block* block) override;
  void done(StreamNumber stream, uint64_t released) override;
  void retire(StreamNumber stream) override;
  uint64_t last_release(StreamNumber stream) const override;
  std::vector<Segment*> trim() override;
  void gone(Segment* segment) override;
  void kept(Segment* segment) override;
  PolicyTotals totals() const override;
  std::vector<const Segment*> segments() const override;
  std::string check() const override;

 private:
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      if (a->stream != b->stream) return a->stream < b->stream;
      return a->size != b->size ? a->size < b->size : a->address < b->address;
    }
  };
  using Idle = std::set<Block*, BySize>;
  struct StreamState {
    uint64_t released = 0, done = 0;  // numbers of releases: given so far, past on the device
  };

  Idle& idle_of(const Segment& segment) { return idle_[segment.small ? 0 : 1]; }
  Block* fitting(Idle& idle, StreamNumber stream, int64_t size);
  Block* fitting_elsewhere(Idle& idle, StreamNumber stream, int64_t size);
  bool take(Block* block, const Request& request, int64_t size);
  bool join(Block* left, Block* right);
  Block* new_block();
  void put(Block* block);
  void remove(Block* block);

  Constants constants_;
  Idle idle_[2];  // small, large
  // A block that is not idle has its node of the idle list here, so that freeing needs no memory.
  std::vector<Idle::node_type> spare_;
  size_t blocks_ = 0;
  // By address. The driver may give an address anew before it is told here that the old segment is gone.
  std::multimap<uint64_t, std::unique_ptr<Segment>> segments_;
  std::unordered_map<StreamNumber, StreamState> streams_;
  int64_t reserved_ = 0, live_ = 0, pending_ = 0, idle_bytes_ = 0;
};

}  // namespace tantu::memory
