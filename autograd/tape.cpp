#include <tantu/autograd/tape.h>

#include <tantu/autograd/ops/view_of.h>

#include <tantu/autograd/ops/creation.h>
#include <tantu/autograd/ops/shape.h>

#include <fmt/format.h>

namespace tantu::tape {

namespace {

void set_edges(Node& node, const Tensor* inputs, size_t count, std::initializer_list<Saved> saved) {
  node.edges.reserve(count);
  for (size_t i = 0; i < count; ++i) node.edges.push_back(edge_of(inputs[i]));
  node.saved_tensors.assign(saved.begin(), saved.end());
}

// A retained gradient follows its tensor to the node that an in-place write gives it.
void move_retained(Meta& meta, const Ref<Node>& node, int slot) {
  if (!meta.retained || meta.grad_fn == node) return;
  if (meta.grad_fn)
    std::erase_if(meta.grad_fn->retained, [&](const auto& entry) { return entry.second == meta.retained; });
  node->retained.emplace_back(slot, meta.retained);
}

}  // namespace

void set_history(const Ref<Node>& node, Tensor& y, int slot) {
  Meta& meta = meta_of(y);
  move_retained(meta, node, slot);
  meta.requires_grad = true;
  meta.grad_fn = node;
  meta.slot = slot;
  meta.view_version = y.version();
}

namespace {

// The gradient of a base tensor, some elements of which (`view`) were overwritten by the operation `inner`.
// Edge 0 leads to the base's earlier history; the others are inner's edges after its first.
class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> inner)
      : Node("CopySlices"),
        sizes_(view.sizes()),
        strides_(view.strides()),
        offset_(view.storage_offset() - base.storage_offset()),
        base_strides_(base.strides()),
        inner_(std::move(inner)) {}

  TensorList apply(TensorList& grads) override {
    TANTU_CHECK(!released, AutogradError, "{}: Trying to backward through the graph a second time", inner_->name);
    Tensor g = dense_copy(materialized(grads, 0));
    Tensor part = g.as_strided(sizes_, strides_, offset_);
    TensorList inner_grads{part.clone()};
    TensorList result = inner_->apply(inner_grads);
    if (result[0].defined()) part.copy_(result[0]);
    else part.zero_();
    result[0] = g;
    return result;
  }

  void release_saved() override {
    Node::release_saved();
    inner_->release_saved();
  }

 private:
  // A fresh copy with the base's own strides, so that the view's geometry applies to it.
  Tensor dense_copy(const Tensor& g) const {
    int64_t extent = 1;
    for (int i = 0; i < g.sizes().size(); ++i) extent += (g.sizes()[i] - 1) * base_strides_[i];
    Tensor buffer = zeros({g.numel() == 0 ? 0 : extent}, {.dtype = g.dtype(), .device = g.device()});
    Tensor copy = buffer.as_strided(g.sizes(), base_strides_, 0);
    copy.copy_(g);
    return copy;
  }

  Shape sizes_;
  Strides strides_;
  int64_t offset_;
  Strides base_strides_;
  Ref<Node> inner_;
};

}  // namespace

Ref<Node> grad_fn(const Tensor& t) {
  Meta* meta = find_meta(t);
  if (!meta) return nullptr;
  if (meta->base.defined() && meta->view_version != t.version() && meta->base.requires_grad()) {
    // The storage was written through another view: this view's history is now "a piece of the base".
    const Tensor& base = meta->base;
    auto backward = [base_sizes = base.sizes(), base_strides = base.strides(), base_offset = base.storage_offset(),
                     sizes = t.sizes(), strides = t.strides(), offset = t.storage_offset()](Backward& b) {
      return TensorList{as_strided_backward(b.grad(), base_sizes, base_strides, base_offset, sizes, strides, offset)};
    };
    Ref<Node> node(new ClosureNode<decltype(backward)>("AsStridedBackward0", std::move(backward)));
    node->edges.push_back(edge_of(base));
    node->outputs.push_back({t.sizes(), t.dtype(), t.device()});
    node->number();
    Tensor view = t;
    set_history(node, view, 0);
  }
  return meta->grad_fn;
}

void attach(Ref<Node> node, std::initializer_list<Tensor*> outputs, const Tensor* inputs, size_t input_count,
            std::initializer_list<Saved> saved) {
  set_edges(*node, inputs, input_count, saved);
  node->number();
  node->outputs.reserve(outputs.size());
  int slot = 0;
  for (Tensor* y : outputs) {
    node->outputs.push_back({y->sizes(), y->dtype(), y->device()});
    if (is_floating(y->dtype())) set_history(node, *y, slot);
    ++slot;
  }
}

void check_inplace(const char* op, const Tensor& y, bool one_value) {
  for (int i = 0; i < y.sizes().size(); ++i)
    TANTU_CHECK(one_value || y.sizes()[i] <= 1 || y.strides()[i] != 0 || y.numel() == 0, ShapeError,
                "{}: unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location (sizes {}, strides {}). Please clone() the tensor before",
                op, y.sizes(), y.strides());
  if (!is_grad_enabled()) return;
  const Meta* meta = find_meta(y);
  if (!meta) return;
  TANTU_CHECK(!meta->made_without_grad, AutogradError,
              "{}: A view was created in no_grad mode and is being modified inplace with grad mode enabled ({} {})", op,
              y.dtype(), y.sizes());
  TANTU_CHECK(!(meta->requires_grad && !grad_fn(y)), AutogradError,
              "{}: a leaf Variable that requires grad is being used in an in-place operation ({} {}); write it under a "
              "NoGradGuard",
              op, y.dtype(), y.sizes());
  TANTU_CHECK(!(meta->base.defined() && meta->base.requires_grad() && !grad_fn(meta->base)), AutogradError,
              "{}: a view of a leaf Variable that requires grad is being used in an in-place operation ({} {})", op,
              y.dtype(), y.sizes());
}

void written(Tensor& y) {
  // Inputs that need no history do not make `y` a constant: its old history goes on.
  if (Meta* meta = find_meta(y)) {
    grad_fn(y);
    y.impl().storage->bump_version();
    if (!meta->base.defined() || !meta->base.requires_grad()) meta->view_version = y.version();
    return;
  }
  y.impl().storage->bump_version();
}

void attach_inplace(Ref<Node> node, Tensor& y, const Tensor* inputs, size_t input_count,
                    std::initializer_list<Saved> saved) {
  set_edges(*node, inputs, input_count, saved);
  adopt_inplace(node, y);
}

void adopt(const Ref<Node>& node, Tensor& y) {
  node->number();
  node->outputs.push_back({y.sizes(), y.dtype(), y.device()});
  set_history(node, y, 0);
}

void adopt_inplace(const Ref<Node>& node, Tensor& y) {
  node->number();
  node->outputs.push_back({y.sizes(), y.dtype(), y.device()});
  Meta* meta = find_meta(y);
  if (!meta || !meta->base.defined()) {
    y.impl().storage->bump_version();
    set_history(node, y, 0);
    return;
  }
  Tensor base = meta->base;
  auto copy_slices = make_ref<CopySlices>(base, y, node);
  copy_slices->edges = node->edges;
  copy_slices->edges[0] = edge_of(base);
  // inner_ asks itself what is needed: its first edge must say yes for the overwritten part to be computed.
  node->edges[0] = copy_slices->edges[0];
  copy_slices->number();
  copy_slices->outputs.push_back({base.sizes(), base.dtype(), base.device()});
  y.impl().storage->bump_version();
  set_history(copy_slices, base, 0);
  meta->view_version = y.version() - 1;  // stale on purpose: the next question regenerates it from the base
  meta->requires_grad = true;
}

void note_view(Tensor& y, const Tensor& x) {
  if (is_inference_mode() || !is_floating(x.dtype()) || (!is_grad_enabled() && !x.requires_grad())) return;
  const Meta* of_x = find_meta(x);
  Meta& meta = meta_of(y);
  if (!is_grad_enabled()) {
    meta.made_without_grad = true;
    return;
  }
  meta.is_view = true;
  meta.made_without_grad = of_x && of_x->made_without_grad;
  meta.base = of_x && of_x->base.defined() ? of_x->base : x;
  meta.view_version = y.version();
}

Device common_device(const char* op, std::initializer_list<std::pair<const char*, const Tensor*>> arguments) {
  const Tensor* first = nullptr;
  const Tensor* other = nullptr;
  for (const auto& [label, t] : arguments) {
    if (!t->defined()) continue;
    if (!first) first = t;
    else if (!(t->device() == first->device()) && !other) other = t;
  }
  if (!other) return first ? first->device() : kCPU;
  std::string text =
      fmt::format("{}: Expected all tensors to be on the same device, but found at least two devices, {} and {}!", op,
                  first->device(), other->device());
  const Device home = first->device().is_cpu() ? other->device() : first->device();
  for (const auto& [label, t] : arguments) {
    if (!t->defined()) continue;
    text += fmt::format("\n  {}: {} {} on {}", label, t->dtype(), t->sizes(), t->device());
    if (!(t->device() == home)) text += fmt::format("   <- move this one: {}.to(\"{}\")", label, home);
  }
  throw DeviceError(text);
}

}  // namespace tantu::tape
