#include <tantu/autograd/autograd.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tantu {

namespace {

using tape::Edge;
using tape::Meta;
using tape::Node;
using tape::OutputInfo;

// A sum of gradients on its way. `owned` says that nobody else sees the tensor, so that it may be added to in place.
struct Sum {
  Tensor value;
  bool owned = false;

  void add(const Tensor& g, bool create_graph) {
    if (!g.defined()) return;
    if (!value.defined()) {
      value = g;
    } else if (owned && !create_graph) {
      value.add_(g);
    } else {
      value = tantu::add(value, g);
      owned = true;
    }
  }
};

// Walks the graph backwards: from the largest sequence number down, each node once, when all its consumers have run.
class Engine {
 public:
  Engine(bool retain_graph, bool create_graph) : retain_graph_(retain_graph), create_graph_(create_graph) {}

  void seed(const Tensor& root, const Tensor& gradient) {
    const Edge edge = tape::edge_of(root);
    if (edge.leaf) {
      leaves_[edge.leaf.get()].keep = edge.leaf;
      leaves_[edge.leaf.get()].sum.add(gradient, create_graph_);
      return;
    }
    State& state = discover(edge.node);
    state.grads[static_cast<size_t>(edge.slot)].add(gradient, create_graph_);
    roots_.push_back(edge.node.get());
  }

  // Gradients at this tensor are kept for `take` instead of being accumulated in a leaf.
  void capture(const Tensor& input) {
    const Edge edge = tape::edge_of(input);
    if (edge.node) captured_.insert({key(edge.node.get(), edge.slot), Tensor()});
    capturing_ = true;
  }

  Tensor take(const Tensor& input) {
    const Edge edge = tape::edge_of(input);
    if (edge.leaf) {
      const auto found = leaves_.find(edge.leaf.get());
      return found == leaves_.end() ? Tensor() : found->second.sum.value;
    }
    return captured_[key(edge.node.get(), edge.slot)];
  }

  void run() {
    count_dependencies();
    for (auto& [impl, leaf] : leaves_)
      if (leaf.missing == 0) finish(leaf);
    std::sort(roots_.begin(), roots_.end());
    roots_.erase(std::unique(roots_.begin(), roots_.end()), roots_.end());
    for (Node* node : roots_)
      if (states_.at(node).missing == 0) push(node);
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end(), earlier);
      Node* node = ready_.back();
      ready_.pop_back();
      step(node);
    }
  }

 private:
  struct State {
    Ref<Node> keep;
    std::vector<Sum> grads;
    int missing = 0;  // consumers that have not run yet
  };
  struct Leaf {
    Ref<TensorImpl> keep;
    Sum sum;
    int missing = 0;
  };

  static uint64_t key(Node* node, int slot) { return node->sequence * 64 + static_cast<uint64_t>(slot); }
  static bool earlier(const Node* a, const Node* b) { return a->sequence < b->sequence; }

  State& discover(const Ref<Node>& node) {
    const auto [found, is_new] = states_.try_emplace(node.get());
    if (is_new) {
      found->second.keep = node;
      found->second.grads.resize(node->outputs.size());
    }
    return found->second;
  }

  void count_dependencies() {
    std::vector<Node*> stack;
    std::unordered_set<Node*> seen;
    for (Node* root : roots_)
      if (seen.insert(root).second) stack.push_back(root);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (const Edge& edge : node->edges) {
        if (edge.leaf) {
          Leaf& leaf = leaves_[edge.leaf.get()];
          leaf.keep = edge.leaf;
          ++leaf.missing;
        } else if (edge.node) {
          ++discover(edge.node).missing;
          if (seen.insert(edge.node.get()).second) stack.push_back(edge.node.get());
        }
      }
    }
  }

  void push(Node* node) {
    ready_.push_back(node);
    std::push_heap(ready_.begin(), ready_.end(), earlier);
  }

  void step(Node* node) {
    State& state = states_.at(node);
    TensorList grads;
    grads.reserve(state.grads.size());
    bool any = false;
    for (Sum& sum : state.grads) {
      any |= sum.value.defined();
      grads.push_back(std::move(sum.value));
    }
    if (any) run_hooks(*node, grads);
    TensorList results(node->edges.size());
    if (any) {
      SiteScope site(node->site);
      results = node->apply(grads);
      check(*node, results);
    }
    if (!retain_graph_) node->release_saved();
    grads.clear();
    for (size_t i = 0; i < node->edges.size(); ++i) deliver(*node, i, results[i]);
    state.keep = nullptr;  // the node may go now; its entry stays as a mark
  }

  void run_hooks(Node& node, TensorList& grads) {
    for (auto& [slot, hook] : node.hooks) {
      Tensor& g = grads[static_cast<size_t>(slot)];
      if (!g.defined()) continue;
      if (Tensor changed = hook(g); changed.defined()) g = changed;
    }
    for (auto& [slot, place] : node.retained) {
      const Tensor& g = grads[static_cast<size_t>(slot)];
      if (g.defined()) *place = place->defined() ? tantu::add(*place, g) : g;
    }
    if (!capturing_) return;
    for (size_t slot = 0; slot < grads.size(); ++slot) {
      const auto found = captured_.find(key(&node, static_cast<int>(slot)));
      if (found != captured_.end()) found->second = grads[slot];
    }
  }

  void check(const Node& node, const TensorList& results) const {
    TANTU_CHECK(results.size() == node.edges.size(), AutogradError,
                "{}: returned {} gradients for {} inputs", node.name, results.size(), node.edges.size());
    if (!detail::grad_state().anomaly) return;
    NoGradGuard no_grad;
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].defined() && is_floating(results[i].dtype()) && results[i].isnan().any().item<bool>())
        throw AutogradError(fmt::format("Function '{}' returned nan values in its {}th output; the forward call is {}",
                                        node.name, i,
                                        node.site ? fmt::format("{}:{}", node.site.file, node.site.line) : "unknown"));
  }

  void deliver(const Node& from, size_t i, Tensor& result) {
    const Edge& edge = from.edges[i];
    if (edge.leaf) {
      Leaf& leaf = leaves_.at(edge.leaf.get());
      if (result.defined()) leaf.sum.add(fit(from, result, {leaf.keep->sizes, leaf.keep->dtype, leaf.keep->storage->device()}), create_graph_);
      result = Tensor();
      if (--leaf.missing == 0) finish(leaf);
    } else if (edge.node) {
      State& state = states_.at(edge.node.get());
      const size_t slot = static_cast<size_t>(edge.slot);
      if (result.defined()) state.grads[slot].add(fit(from, result, edge.node->outputs[slot]), create_graph_);
      result = Tensor();
      if (--state.missing == 0) push(edge.node.get());
    }
  }

  // A gradient must look like what it is the gradient of; a broadcast one is summed back.
  static Tensor fit(const Node& from, const Tensor& g, const OutputInfo& wanted) {
    Tensor result = g;
    if (!(result.sizes() == wanted.sizes)) {
      TANTU_CHECK(result.numel() >= numel(wanted.sizes), AutogradError,
                  "{}: returned an invalid gradient: got {} but expected shape {}", from.name, result.sizes(), wanted.sizes);
      result = sum_to_size(result, wanted.sizes);
    }
    return result.dtype() == wanted.dtype ? result : result.to(wanted.dtype);
  }

  void finish(Leaf& leaf) {
    if (!leaf.sum.value.defined()) return;
    const Tensor tensor(leaf.keep);
    Meta& meta = tape::meta_of(tensor);
    for (const tape::Hook& hook : meta.hooks)
      if (Tensor changed = hook(leaf.sum.value); changed.defined()) leaf.sum.value = changed;
    if (capturing_) return;
    accumulate(meta, std::move(leaf.sum.value));
    for (const auto& hook : meta.post_hooks) hook(tensor);
  }

  void accumulate(Meta& meta, Tensor g) {
    if (meta.grad.defined()) {
      if (create_graph_) meta.grad = tantu::add(meta.grad, g);
      else meta.grad.add_(g);
      return;
    }
    const bool ours = g.ref()->use_count() == 1 && g.impl().storage->use_count() == 1 && g.is_contiguous();
    meta.grad = create_graph_ || ours ? g : g.clone();
    if (!create_graph_ && meta.grad.requires_grad()) meta.grad = meta.grad.detach();
  }

  bool retain_graph_, create_graph_, capturing_ = false;
  std::unordered_map<Node*, State> states_;
  std::unordered_map<TensorImpl*, Leaf> leaves_;
  std::unordered_map<uint64_t, Tensor> captured_;
  std::vector<Node*> roots_;
  std::vector<Node*> ready_;  // a heap: the largest sequence number on top
};

Tensor root_gradient(const Tensor& root, const Tensor& given) {
  TANTU_CHECK(root.requires_grad(), AutogradError,
              "backward: element 0 of tensors does not require grad and does not have a grad_fn ({} {})", root.dtype(),
              root.sizes());
  if (!given.defined()) {
    TANTU_CHECK(root.numel() == 1, AutogradError,
                "backward: grad can be implicitly created only for scalar outputs, but the root has shape {}", root.sizes());
    return ones(root.sizes(), {.dtype = root.dtype(), .device = root.device()});
  }
  TANTU_CHECK(given.sizes() == root.sizes(), ShapeError, "backward: Mismatch in shape: the gradient has shape {} and the root {}",
              given.sizes(), root.sizes());
  return given.dtype() == root.dtype() ? given : given.to(root.dtype());
}

void seed_all(Engine& engine, const TensorList& roots, const TensorList& gradients) {
  TANTU_CHECK(gradients.empty() || gradients.size() == roots.size(), ValueError,
              "backward: got {} roots and {} gradients", roots.size(), gradients.size());
  TensorList seeds;
  for (size_t i = 0; i < roots.size(); ++i)
    seeds.push_back(root_gradient(roots[i], gradients.empty() ? Tensor() : gradients[i]));
  for (size_t i = 0; i < roots.size(); ++i) engine.seed(roots[i], seeds[i]);
}

}  // namespace

void backward(const TensorList& roots, const TensorList& gradients, bool retain_graph, bool create_graph) {
  GradModeGuard mode(create_graph);
  Engine engine(retain_graph || create_graph, create_graph);
  seed_all(engine, roots, gradients);
  engine.run();
}

TensorList grad(const TensorList& outputs, const TensorList& inputs, const TensorList& gradients, bool retain_graph,
                bool create_graph, bool allow_unused) {
  GradModeGuard mode(create_graph);
  Engine engine(retain_graph || create_graph, create_graph);
  for (const Tensor& input : inputs) {
    TANTU_CHECK(input.requires_grad(), AutogradError, "grad: One of the inputs does not require grad ({} {})", input.dtype(),
                input.sizes());
    engine.capture(input);
  }
  seed_all(engine, outputs, gradients);
  engine.run();
  TensorList result;
  for (const Tensor& input : inputs) {
    result.push_back(engine.take(input));
    TANTU_CHECK(allow_unused || result.back().defined(), AutogradError,
                "grad: One of the differentiated Tensors appears to not have been used in the graph ({} {}). "
                "Set allow_unused = true if this is the desired behavior",
                input.dtype(), input.sizes());
  }
  return result;
}

void register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> hook) {
  TANTU_CHECK(t.requires_grad(), AutogradError, "register_hook: the tensor does not require grad ({} {})", t.dtype(), t.sizes());
  if (Ref<Node> node = tape::grad_fn(t)) node->hooks.emplace_back(tape::find_meta(t)->slot, std::move(hook));
  else tape::meta_of(t).hooks.push_back(std::move(hook));
}

void register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook) {
  TANTU_CHECK(leaf.requires_grad() && leaf.is_leaf(), AutogradError,
              "register_post_accumulate_grad_hook: the tensor is not a leaf that requires grad ({} {})", leaf.dtype(),
              leaf.sizes());
  tape::meta_of(leaf).post_hooks.push_back(std::move(hook));
}

// ---- what Tensor says of its gradient

Tensor& Tensor::requires_grad_(bool on) {
  TANTU_CHECK(!on || is_floating(dtype()), AutogradError,
              "requires_grad_: only Tensors of floating point dtype can require gradients, but this one is {}", dtype());
  TANTU_CHECK(on || is_leaf(), AutogradError,
              "requires_grad_: you can only change requires_grad flags of leaf variables; use detach()");
  if (on || impl().autograd) tape::meta_of(*this).requires_grad = on;
  return *this;
}

bool Tensor::is_leaf() const { return !tape::grad_fn(*this); }

Tensor Tensor::grad() const {
  const Meta* meta = tape::find_meta(*this);
  if (!meta) return {};
  return meta->retained ? *meta->retained : meta->grad;
}

void Tensor::set_grad(const Tensor& grad) {
  TANTU_CHECK(!grad.defined() || (grad.sizes() == sizes() && grad.dtype() == dtype() && grad.device() == device()), ShapeError,
              "set_grad: the gradient ({} {}) must look like the tensor ({} {})", grad.dtype(), grad.sizes(), dtype(), sizes());
  if (grad.defined() || impl().autograd) tape::meta_of(*this).grad = grad;
}

std::string Tensor::grad_fn_name() const {
  const Ref<Node> node = tape::grad_fn(*this);
  return node ? node->name : "";
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph, Site at) const {
  SiteScope site(at);
  tantu::backward({*this}, gradient.defined() ? TensorList{gradient} : TensorList{}, retain_graph, create_graph);
}

Tensor& Tensor::detach_() {
  if (Meta* meta = tape::find_meta(*this)) {
    TANTU_CHECK(!meta->base.defined(), AutogradError, "detach_: Can't detach views in-place. Use detach() instead");
    meta->requires_grad = false;
    meta->grad_fn = nullptr;
    meta->retained = nullptr;
  }
  return *this;
}

void Tensor::retain_grad() const {
  TANTU_CHECK(requires_grad(), AutogradError, "retain_grad: can't retain_grad on a Tensor that has requires_grad=False");
  const Ref<Node> node = tape::grad_fn(*this);
  if (!node) return;
  Meta& meta = tape::meta_of(*this);
  if (meta.retained) return;
  meta.retained = std::make_shared<Tensor>();
  node->retained.emplace_back(meta.slot, meta.retained);
}

}  // namespace tantu
