#include <tantu/autograd/node.h>

#include <tantu/autograd/ops/creation.h>
#include <tantu/autograd/tape.h>

#include <atomic>
#include <utility>

namespace tantu {

detail::GradState& detail::grad_state() {
  static thread_local constinit GradState state;
  return state;
}

namespace tape {

namespace {

Tensor without_history(const Tensor& t) {
  return make_view(t.impl().storage, t.dtype(), t.sizes(), t.strides(), t.storage_offset());
}

Tensor with_history(Tensor t, const Ref<Node>& node, int slot) {
  Meta& meta = meta_of(t);
  meta.requires_grad = true;
  meta.grad_fn = node;
  meta.slot = slot;
  return t;
}

Ref<Remade> offer(const Tensor& t, bool is_output) {
  SaveFilter* filter = save_filter();
  return filter ? filter->offer(t, is_output) : nullptr;
}

struct Pruned {
  const Node* node = nullptr;
  uint64_t edges = 0;
};

Pruned& pruned() {
  static thread_local constinit Pruned state;
  return state;
}

}  // namespace

Remade::~Remade() = default;
void destroy(Remade* remade) {
  delete remade;
}

SaveFilter::~SaveFilter() = default;

SaveFilter*& save_filter() {
  static thread_local constinit SaveFilter* filter = nullptr;
  return filter;
}

Saved::Saved(const Tensor& input) {
  if (!input.defined()) return;
  version_ = input.version();
  remade_ = offer(input, false);
  if (remade_) return;
  Edge edge = edge_of(input);
  tensor_ = edge.leaf ? input : without_history(input);
  maker_ = std::move(edge.node);
  slot_ = edge.slot;
}

Saved Saved::output(const Tensor& y, int slot) {
  Saved s;
  s.version_ = y.version();
  s.slot_ = slot;
  s.is_output_ = true;
  s.remade_ = offer(y, true);
  if (!s.remade_) s.tensor_ = without_history(y);
  return s;
}

Tensor Saved::unpack(Node& node) const {
  if (remade_) {
    const Edge& history = remade_->history;
    if (is_output_) return with_history(remade_->make(), Ref<Node>(&node), slot_);
    return history.node ? with_history(remade_->make(), history.node, history.slot) : remade_->make();
  }
  if (!tensor_.defined()) return tensor_;
  TANTU_CHECK(
      tensor_.version() == version_, AutogradError,
      "{}: one of the variables needed for gradient computation has been modified by an inplace operation: {} {} is at "
      "version {}; expected version {} instead{}",
      node.name, tensor_.dtype(), tensor_.sizes(), tensor_.version(), version_,
      node.site ? fmt::format(" (saved by the operation at {}:{})", node.site.file, node.site.line) : "");
  if (is_output_) return with_history(without_history(tensor_), Ref<Node>(&node), slot_);
  return maker_ ? with_history(without_history(tensor_), maker_, slot_) : tensor_;
}

void Saved::release() {
  tensor_ = Tensor();
  remade_ = nullptr;
  maker_ = nullptr;
}

Node::Node(const char* node_name) : name(node_name), site(SiteScope::current()), streams(gpu::chosen_streams()) {}

Node::~Node() = default;

void Node::number() {
  static std::atomic<uint64_t> next{1};
  sequence = next.fetch_add(1, std::memory_order_relaxed);
}

void Node::release_saved() {
  released = true;
  for (Saved& s : saved_tensors) s.release();
}

Tensor Node::saved(int i) {
  TANTU_CHECK(!released, AutogradError,
              "{}: Trying to backward through the graph a second time: its saved tensors were freed by the first "
              "backward. Give retain_graph = true to the first{}",
              name, site ? fmt::format(" (the operation at {}:{})", site.file, site.line) : "");
  return saved_tensors[static_cast<size_t>(i)].unpack(*this);
}

bool Node::needs(int input) const {
  if (!edges[static_cast<size_t>(input)]) return false;
  const Pruned& now = pruned();
  return now.node != this || input >= 64 || !(now.edges >> input & 1);
}

Tensor Node::materialized(TensorList& grads, int slot) const {
  const Tensor& g = grads[static_cast<size_t>(slot)];
  if (g.defined()) return g;
  const OutputInfo& info = outputs[static_cast<size_t>(slot)];
  return zeros(info.sizes, {.dtype = info.dtype, .device = info.device});
}

PrunedEdges::PrunedEdges(const Node* node, uint64_t edges) : node_(node), edges_(edges) {
  std::swap(pruned().node, node_);
  std::swap(pruned().edges, edges_);
}

PrunedEdges::~PrunedEdges() {
  pruned().node = node_;
  pruned().edges = edges_;
}

void destroy(Node* node) {
  // Deleting a node lets go of the nodes behind it; they queue here instead of recursing.
  static thread_local std::vector<Node*>* queue = nullptr;
  if (queue) {
    queue->push_back(node);
    return;
  }
  std::vector<Node*> pending{node};
  queue = &pending;
  while (!pending.empty()) {
    Node* last = pending.back();
    pending.pop_back();
    delete last;
  }
  queue = nullptr;
}

Meta& meta_of(const Tensor& t) {
  auto& slot = t.impl().autograd;
  if (!slot) slot = std::make_unique<Meta>();
  return static_cast<Meta&>(*slot);
}

bool Meta::base_requires_grad(uint32_t version) const {
  return version != view_version && base.requires_grad();
}

Edge edge_of(const Tensor& t) {
  if (!t.defined() || !t.requires_grad()) return {};
  Ref<Node> node = grad_fn(t);
  if (node) return {std::move(node), nullptr, find_meta(t)->slot};
  return {nullptr, t.ref(), 0};
}

}  // namespace tape
}  // namespace tantu
