#include <tantu/core/memory/policy_segments.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tantu::memory {

Policy::~Policy() = default;

namespace {

int64_t round_up(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

SegmentsPolicy::~SegmentsPolicy() {
  for (auto& [address, segment] : segments_)
    for (Block* block = segment->first; block;) delete std::exchange(block, block->after);
}

int64_t SegmentsPolicy::rounded(int64_t bytes) const {
  return round_up(bytes, constants_.min_block);
}

// The smallest idle block of the stream that holds `size` bytes.
Block* SegmentsPolicy::fitting(Idle& idle, StreamNumber stream, int64_t size) {
  Block key;
  key.stream = stream;
  key.size = size;
  const auto found = idle.lower_bound(&key);
  return found != idle.end() && (*found)->stream == stream ? *found : nullptr;
}

Block* SegmentsPolicy::fitting_elsewhere(Idle& idle, StreamNumber stream, int64_t size) {
  Block* best = nullptr;
  for (const auto& [other, state] : streams_) {
    if (other == stream) continue;
    Block key;
    key.stream = other;
    key.size = size;
    for (auto at = idle.lower_bound(&key); at != idle.end() && (*at)->stream == other; ++at) {
      Block* block = *at;
      if (best && block->size > best->size) break;
      if (block->released > state.done) continue;
      if (!best || block->size < best->size || block->address < best->address) best = block;
    }
  }
  return best;
}

// A block and its node, or nothing is changed.
Block* SegmentsPolicy::new_block() {
  spare_.reserve(blocks_ + 1);
  auto block = std::make_unique<Block>();
  Idle one;
  one.insert(block.get());
  spare_.push_back(one.extract(one.begin()));
  ++blocks_;
  return block.release();
}

void SegmentsPolicy::put(Block* block) {
  Idle::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.value() = block;
  idle_of(*block->segment).insert(std::move(node));
  idle_bytes_ += block->size;
}

void SegmentsPolicy::remove(Block* block) {
  Idle& idle = idle_of(*block->segment);
  spare_.push_back(idle.extract(idle.find(block)));
  idle_bytes_ -= block->size;
}

// Hands the block out; what it has beyond `size` stays idle if that is worth a block. Returns whether it does.
bool SegmentsPolicy::take(Block* block, const Request& request, int64_t size) {
  const int64_t rest = block->size - size;
  const bool split = block->segment->small ? rest >= constants_.min_block : rest > constants_.small_limit;
  Block* remainder = split ? new_block() : nullptr;
  remove(block);
  if (split) {
    *remainder = *block;
    remainder->address += static_cast<uint64_t>(size);
    remainder->size = rest;
    remainder->requested = 0;
    remainder->before = block;
    if (remainder->after) remainder->after->before = remainder;
    block->after = remainder;
    block->size = size;
    put(remainder);
  }
  block->stream = request.stream;
  block->requested = request.bytes;
  block->state = BlockState::Live;
  live_ += block->size;
  return split;
}

Answer SegmentsPolicy::place(const Request& request) {
  const int64_t size = rounded(request.bytes);
  const bool small = size <= constants_.small_limit;
  streams_.try_emplace(request.stream);
  Idle& idle = idle_[small ? 0 : 1];
  Answer answer;
  answer.block = fitting(idle, request.stream, size);
  answer.choice = Choice::SameStream;
  if (!answer.block) {
    answer.block = fitting_elsewhere(idle, request.stream, size);
    answer.choice = Choice::OtherStream;
  }
  if (answer.block) {
    answer.split = take(answer.block, request, size);
    return answer;
  }
  answer.choice = Choice::NewSegment;
  answer.segment = small                         ? constants_.small_segment
                   : size < constants_.mid_limit ? constants_.mid_segment
                                                 : round_up(size, constants_.large_round);
  return answer;
}

Block* SegmentsPolicy::granted(const Request& request, uint64_t address, int64_t size) {
  auto owned = std::make_unique<Segment>();
  Segment* segment = owned.get();
  segment->address = address;
  segment->size = size;
  segment->small = rounded(request.bytes) <= constants_.small_limit;
  const auto place = segments_.emplace(address, std::move(owned));
  Block* block = nullptr;
  try {
    block = new_block();
  } catch (...) {
    segments_.erase(place);
    throw;
  }
  block->segment = segment;
  block->address = address;
  block->size = size;
  block->stream = request.stream;
  block->state = BlockState::Idle;
  segment->first = block;
  put(block);
  reserved_ += size;
  try {
    take(block, request, rounded(request.bytes));
  } catch (...) {
    remove(block);
    gone(segment);
    throw;
  }
  return block;
}

// Two idle neighbours become the left one, if both belong to one stream.
bool SegmentsPolicy::join(Block* left, Block* right) {
  if (!left || !right || left->state != BlockState::Idle || right->state != BlockState::Idle ||
      left->stream != right->stream)
    return false;
  remove(left);
  remove(right);
  left->size += right->size;
  left->released = std::max(left->released, right->released);
  left->after = right->after;
  if (right->after) right->after->before = left;
  delete right;
  --blocks_;
  spare_.pop_back();
  put(left);
  return true;
}

void SegmentsPolicy::release(Block* block) {
  (block->state == BlockState::Pending ? pending_ : live_) -= block->size;
  block->state = BlockState::Idle;
  block->requested = 0;
  block->released = ++streams_[block->stream].released;
  put(block);
  Block* const left = block->before;
  if (join(left, block)) block = left;
  join(block, block->after);
}

void SegmentsPolicy::defer(Block* block) {
  live_ -= block->size;
  pending_ += block->size;
  block->state = BlockState::Pending;
}

void SegmentsPolicy::done(StreamNumber stream, uint64_t released) {
  uint64_t& past = streams_[stream].done;
  past = std::max(past, released);
}

uint64_t SegmentsPolicy::last_release(StreamNumber stream) const {
  const auto state = streams_.find(stream);
  return state == streams_.end() ? 0 : state->second.released;
}

std::vector<Segment*> SegmentsPolicy::trim() {
  std::vector<Segment*> given;
  given.reserve(segments_.size());
  for (auto& [address, segment] : segments_) {
    if (segment->in_transit) continue;
    bool unused = true;
    for (const Block* b = segment->first; b; b = b->after) unused = unused && b->state == BlockState::Idle;
    if (!unused) continue;
    for (Block* b = segment->first; b; b = b->after) remove(b);
    segment->in_transit = true;
    given.push_back(segment.get());
  }
  return given;
}

void SegmentsPolicy::gone(Segment* segment) {
  reserved_ -= segment->size;
  for (Block* block = segment->first; block;) {
    delete std::exchange(block, block->after);
    --blocks_;
    spare_.pop_back();
  }
  auto place = segments_.lower_bound(segment->address);
  while (place->second.get() != segment) ++place;
  segments_.erase(place);
}

void SegmentsPolicy::kept(Segment* segment) {
  segment->in_transit = false;
  for (Block* b = segment->first; b; b = b->after) put(b);
}

void SegmentsPolicy::retire(StreamNumber stream) {
  for (auto& [address, segment] : segments_)
    for (Block* b = segment->first; b; b = b->after) {
      if (b->stream != stream) continue;
      const bool listed = b->state == BlockState::Idle && !segment->in_transit;
      if (listed) remove(b);
      b->stream = 0;
      if (!listed) continue;
      b->released = ++streams_[0].released;
      put(b);
      Block* const left = b->before;
      if (join(left, b)) b = left;
      join(b, b->after);
    }
  streams_.erase(stream);
}

PolicyTotals SegmentsPolicy::totals() const {
  PolicyTotals t;
  t.segments = static_cast<int64_t>(segments_.size());
  t.reserved = reserved_;
  t.live = live_;
  t.pending = pending_;
  t.idle = idle_bytes_;
  for (const Idle& idle : idle_)
    for (const Block* b : idle) {
      t.largest_idle = std::max(t.largest_idle, b->size);
      ++t.idle_blocks;
    }
  return t;
}

std::vector<const Segment*> SegmentsPolicy::segments() const {
  std::vector<const Segment*> all;
  for (const auto& [address, segment] : segments_) all.push_back(segment.get());
  return all;
}

std::string SegmentsPolicy::check() const {
  int64_t reserved = 0, sums[3] = {}, in_transit = 0;
  size_t listed = 0;
  for (const auto& [address, segment] : segments_) {
    uint64_t at = segment->address;
    const Block* last = nullptr;
    for (const Block* b = segment->first; b; last = b, b = b->after) {
      if (b->segment != segment.get() || b->before != last)
        return fmt::format("block {:#x} is not linked into its segment", b->address);
      if (b->address != at) return fmt::format("a gap or an overlap before block {:#x}", b->address);
      if (b->size <= 0 || b->size % constants_.min_block != 0)
        return fmt::format("block {:#x} has a size of {} bytes", b->address, b->size);
      const bool idle = b->state == BlockState::Idle;
      const bool in_list = idle_[segment->small ? 0 : 1].count(const_cast<Block*>(b)) > 0;
      if (in_list != (idle && !segment->in_transit))
        return fmt::format("block {:#x} is {} the idle list", b->address, in_list ? "wrongly in" : "missing from");
      listed += in_list;
      if (idle && last && last->state == BlockState::Idle && last->stream == b->stream)
        return fmt::format("idle neighbours at {:#x} are not joined", b->address);
      if (!idle && b->requested > b->size) return fmt::format("block {:#x} is smaller than asked", b->address);
      if (segment->in_transit) in_transit += b->size;
      else sums[static_cast<int>(b->state)] += b->size;
      at += static_cast<uint64_t>(b->size);
    }
    if (at != segment->address + static_cast<uint64_t>(segment->size))
      return fmt::format("segment {:#x} is not covered by its blocks", segment->address);
    reserved += segment->size;
  }
  if (listed != idle_[0].size() + idle_[1].size()) return "the idle lists hold blocks of no segment";
  if (reserved != reserved_) return fmt::format("reserved is {} and should be {}", reserved_, reserved);
  if (sums[0] != live_ || sums[1] != pending_ || sums[2] != idle_bytes_)
    return fmt::format("live, pending, idle are {} {} {} and should be {} {} {}", live_, pending_, idle_bytes_, sums[0],
                       sums[1], sums[2]);
  if (live_ + pending_ + idle_bytes_ + in_transit != reserved_) return "the blocks do not add up to what is reserved";
  return "";
}

}  // namespace tantu::memory
