#pragma once

#include <tantu/core/export.h>

#include <cstdint>
#include <string>
#include <vector>

/// Where blocks go inside memory that the driver gave: integers only. A policy calls no driver, takes no lock, knows no
/// clock and writes no log, so it runs, is fuzzed and is replayed without a device. DeviceAllocator is its only caller.
namespace tantu::memory {

/// Streams are small numbers, given out by the caller.
using StreamNumber = int;

/// Sizes in bytes.
struct Constants {
  int64_t min_block = 512;                ///< every size is a multiple of it, and every address
  int64_t small_limit = 1 << 20;          ///< sizes up to it come from the small pool
  int64_t small_segment = 2 << 20;        ///< what the small pool asks of the driver
  int64_t mid_limit = 10 << 20;           ///< sizes below it share segments of the large pool
  int64_t mid_segment = 20 << 20;         ///< these are of this size
  int64_t large_round = 2 << 20;          ///< from mid_limit on a segment is the size, rounded up to this
  int64_t hard_limit = int64_t{1} << 60;  ///< refused before any arithmetic
};

struct Segment;

enum class BlockState : uint8_t {
  Live,     ///< somebody's
  Pending,  ///< freed, but another stream may still use it
  Idle,     ///< free for its stream
};

/// A piece of a segment. Blocks of a segment form a list in the order of their addresses, without gaps.
struct Block {
  Segment* segment = nullptr;
  uint64_t address = 0;
  int64_t size = 0;
  int64_t requested = 0;  ///< what its owner asked for
  StreamNumber stream = 0;
  BlockState state = BlockState::Live;
  uint64_t released = 0;  ///< Idle: the number of its stream's release that freed it
  Block *before = nullptr, *after = nullptr;
};

/// One allocation of the driver.
struct Segment {
  uint64_t address = 0;
  int64_t size = 0;
  bool small = false;       ///< of the small pool
  bool in_transit = false;  ///< being given back: no block of it is handed out
  Block* first = nullptr;
};

struct Request {
  int64_t bytes = 0;  ///< above 0, below hard_limit
  StreamNumber stream = 0;
};

/// How an answer came about.
enum class Choice : uint8_t { None, SameStream, OtherStream, NewSegment };

struct Answer {
  Block* block = nullptr;  ///< null: a segment is needed
  int64_t segment = 0;     ///< of this size
  Choice choice = Choice::None;
  bool split = false;
};

struct PolicyTotals {
  int64_t segments = 0, reserved = 0;       ///< from the driver
  int64_t live = 0, pending = 0, idle = 0;  ///< bytes of blocks
  int64_t largest_idle = 0, idle_blocks = 0;
};

class TANTU_API Policy {
 public:
  virtual ~Policy();
  virtual const char* name() const = 0;
  /// The size of the block that a request gets at least.
  virtual int64_t rounded(int64_t bytes) const = 0;
  /// A block that exists already, or the segment that is needed.
  virtual Answer place(const Request& request) = 0;
  /// The driver gave the segment: the request's block in it.
  virtual Block* granted(const Request& request, uint64_t address, int64_t size) = 0;
  /// The owner has freed the block, and nothing uses it any more on another stream: Idle, merged with idle neighbours.
  virtual void release(Block* block) = 0;
  /// The owner has freed the block, other streams may use it: Pending until `release`.
  virtual void defer(Block* block) = 0;
  /// All releases of a stream up to number `released` are past on the device: these blocks are free for every stream.
  virtual void done(StreamNumber stream, uint64_t released) = 0;
  /// The stream has ended and all its work is past: its blocks, idle or not, become stream 0's. Its number may be given
  /// to another stream.
  virtual void retire(StreamNumber stream) = 0;
  /// The number of the stream's last release.
  virtual uint64_t last_release(StreamNumber stream) const = 0;
  /// Segments without a live or pending block, now in transit. Each is answered by `gone` or `kept`.
  virtual std::vector<Segment*> trim() = 0;
  virtual void gone(Segment* segment) = 0;
  virtual void kept(Segment* segment) = 0;
  virtual PolicyTotals totals() const = 0;
  /// Every segment, by address.
  virtual std::vector<const Segment*> segments() const = 0;
  /// What is broken in its own state, in a sentence; empty if nothing is.
  virtual std::string check() const = 0;
};

}  // namespace tantu::memory
