#include <tantu/autograd/node.h>

#include <tantu/autograd/ops/creation.h>
#include <tantu/autograd/ops/shape.h>
#include <tantu/autograd/tape.h>

#include <atomic>

namespace tantu {

detail::GradState& detail::grad_state() {
  static thread_local constinit GradState state;
  return state;
}

namespace tape {

Saved Saved::output(const Tensor& y, int slot) {
  Saved s;
  s.tensor_ = make_view(y.impl().storage, y.dtype(), y.sizes(), y.strides(), y.storage_offset());
  s.version_ = y.version();
  s.slot_ = slot;
  return s;
}

Tensor Saved::unpack(Node& node) const {
  if (!tensor_.defined()) return tensor_;
  TANTU_CHECK(tensor_.version() == version_, AutogradError,
              "{}: a tensor needed for backward has been modified by an inplace operation: {} {} is at version {}; "
              "expected version {}{}",
              node.name, tensor_.dtype(), tensor_.sizes(), tensor_.version(), version_,
              node.site ? fmt::format(" (saved at {}:{})", node.site.file, node.site.line) : "");
  if (slot_ < 0) return tensor_;
  Tensor y = make_view(tensor_.impl().storage, tensor_.dtype(), tensor_.sizes(), tensor_.strides(),
                       tensor_.storage_offset());
  Meta& meta = meta_of(y);
  meta.requires_grad = true;
  meta.grad_fn = Ref<Node>(&node);
  meta.slot = slot_;
  return y;
}

Node::Node(const char* node_name) : name(node_name), site(SiteScope::current()) {
  static std::atomic<uint64_t> next{0};
  sequence = next.fetch_add(1, std::memory_order_relaxed);
}

Node::~Node() = default;

void Node::release_saved() {
  released = true;
  for (Saved& s : saved_tensors) s.release();
}

Tensor Node::saved(int i) {
  TANTU_CHECK(!released, AutogradError,
              "{}: Trying to backward through the graph a second time: its saved tensors were freed by the first "
              "backward. Give retain_graph = true to the first",
              name);
  return saved_tensors[static_cast<size_t>(i)].unpack(*this);
}

Tensor Node::materialized(TensorList& grads, int slot) const {
  const Tensor& g = grads[static_cast<size_t>(slot)];
  if (g.defined()) return g;
  const OutputInfo& info = outputs[static_cast<size_t>(slot)];
  return zeros(info.sizes, {.dtype = info.dtype, .device = info.device});
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
