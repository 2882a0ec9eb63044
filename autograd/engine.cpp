#include <tantu/autograd/autograd.h>
#include <tantu/autograd/backward_streams.h>

#include <tantu/autograd/gradient_sum.h>
#include <tantu/autograd/ops.h>
#include <tantu/autograd/pointer_map.h>
#include <tantu/autograd/tape.h>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace tantu {

namespace {

using tape::Edge;
using tape::GradientSum;
using tape::Meta;
using tape::Node;
using tape::OutputInfo;

std::string forward_line(const Node& node) {
  return node.site ? fmt::format("{}:{}", node.site.file, node.site.line) : "unknown";
}

// Walks the graph backwards: from the largest sequence number down, each node once, after all its consumers. What it
// knows of a run lies in flat arrays, so that a small graph costs a handful of allocations.
class Engine {
 public:
  Engine(bool retain_graph, bool create_graph) : retain_graph_(retain_graph), create_graph_(create_graph) {}

  void seed(const Tensor& root, const Tensor& gradient) { seeds_.push_back({tape::edge_of(root), gradient}); }

  // The gradient of this tensor is kept for `take`, and nothing is accumulated in leaves.
  void capture(const Tensor& input) {
    captures_.push_back({tape::edge_of(input)});
    capturing_ = true;
  }
  Tensor take(size_t capture) { return captures_[capture].value; }

  void run() {
    discover();
    if (capturing_) prune();
    count_consumers();
    for (auto& [edge, gradient] : seeds_) {
      if (edge.leaf) leaves_[static_cast<size_t>(leaf_index(edge))].sum.add(std::move(gradient), create_graph_);
      else sum_of(task_index(edge), edge.slot).add(std::move(gradient), create_graph_);
    }
    seeds_.clear();
    for (Leaf& leaf : leaves_)
      if (leaf.missing == 0) finish(leaf);
    for (int index : order_) step(tasks_[static_cast<size_t>(index)]);
  }

 private:
  struct Task {
    Ref<Node> node;
    int first_target = 0;  // in targets_: one per edge
    int first_sum = 0;     // in sums_: one per output
    bool runs = true;      // some gradient behind it is asked for
    bool captured = false;
  };
  struct Leaf {
    Ref<TensorImpl> impl;
    GradientSum sum;
    int missing = 0;  // consumers that have not run yet
    bool wanted = true;
  };
  struct Capture {
    Edge edge;
    Tensor value = {};
  };
  struct Seed {
    Edge edge;
    Tensor gradient;
  };
  static constexpr int kNowhere = INT32_MIN;  // a target: ≥ 0 a task, < 0 the leaf ~target

  int leaf_index(const Edge& edge) { return ~*index_.find(edge.leaf.get()); }
  int task_index(const Edge& edge) { return *index_.find(edge.node.get()); }
  GradientSum& sum_of(int task, int slot) {
    return sums_[static_cast<size_t>(tasks_[static_cast<size_t>(task)].first_sum + slot)];
  }

  int target_of(const Edge& edge) {
    if (edge.leaf) {
      int& known = index_.at(edge.leaf.get(), kNowhere);
      if (known == kNowhere) {
        known = ~static_cast<int>(leaves_.size());
        leaves_.emplace_back().impl = edge.leaf;
      }
      return known;
    }
    if (!edge.node) return kNowhere;
    int& known = index_.at(edge.node.get(), kNowhere);
    if (known == kNowhere) {
      known = static_cast<int>(tasks_.size());
      tasks_.push_back({edge.node, 0, slots_});
      slots_ += static_cast<int>(edge.node->outputs.size());
    }
    return known;
  }

  void discover() {
    for (const Seed& seed : seeds_) target_of(seed.edge);
    for (size_t i = 0; i < tasks_.size(); ++i) {  // grows as it goes
      const Ref<Node> node = tasks_[i].node;
      tasks_[i].first_target = static_cast<int>(targets_.size());
      for (const Edge& edge : node->edges) {
        TANTU_CHECK(!edge.node || edge.node->sequence < node->sequence, AutogradError,
                    "{}: recorded before the operation that made its input ({})", node->name, edge.node->name);
        targets_.push_back(target_of(edge));
      }
    }
    sums_.resize(static_cast<size_t>(slots_));
    order_.resize(tasks_.size());
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int>(i);
    const auto later = [this](int a, int b) {
      return tasks_[static_cast<size_t>(a)].node->sequence > tasks_[static_cast<size_t>(b)].node->sequence;
    };
    if (!std::is_sorted(order_.begin(), order_.end(), later)) std::sort(order_.begin(), order_.end(), later);
  }

  // Only what lies between the roots and the captured tensors runs.
  void prune() {
    for (Leaf& leaf : leaves_) leaf.wanted = false;
    for (const Capture& capture : captures_) {
      const int* found =
          index_.find(capture.edge.leaf ? static_cast<const void*>(capture.edge.leaf.get()) : capture.edge.node.get());
      if (!found) continue;
      if (capture.edge.leaf) leaves_[static_cast<size_t>(~*found)].wanted = true;
      else tasks_[static_cast<size_t>(*found)].captured = true;
    }
    for (auto index = order_.rbegin(); index != order_.rend(); ++index) {  // producers first
      Task& task = tasks_[static_cast<size_t>(*index)];
      task.runs = false;
      for (size_t i = 0; i < task.node->edges.size(); ++i) task.runs |= wants(target(task, i));
    }
  }

  int target(const Task& task, size_t edge) const { return targets_[static_cast<size_t>(task.first_target) + edge]; }

  bool wants(int target) const {
    if (target == kNowhere) return false;
    if (target < 0) return leaves_[static_cast<size_t>(~target)].wanted;
    const Task& task = tasks_[static_cast<size_t>(target)];
    return task.runs || task.captured;
  }

  void count_consumers() {
    for (const Task& task : tasks_)
      if (task.runs)
        for (size_t i = 0; i < task.node->edges.size(); ++i)
          if (const int t = target(task, i); t < 0 && t != kNowhere) ++leaves_[static_cast<size_t>(~t)].missing;
  }

  void step(Task& task) {
    if (!task.runs && !task.captured) {
      task.node = nullptr;
      return;
    }
    const Ref<Node> node = std::move(task.node);  // it may go when this is done
    TensorList grads(node->outputs.size());
    bool any = false;
    for (size_t slot = 0; slot < grads.size(); ++slot) {
      grads[slot] = sums_[static_cast<size_t>(task.first_sum) + slot].take();
      any |= grads[slot].defined();
    }
    if (any) run_hooks(*node, task, grads);
    if (!task.runs) return;
    TensorList results;
    if (any) {
      streams_.enter(node->streams);
      SiteOverride site(node->site);
      tape::PrunedEdges pruned(node.get(), capturing_ ? unwanted(task, *node) : 0);
      results = node->apply(grads);
      check(*node, results);
    }
    if (!retain_graph_) node->release_saved();
    grads.clear();
    results.resize(node->edges.size());
    for (size_t i = 0; i < results.size(); ++i) deliver(*node, i, target(task, i), std::move(results[i]));
  }

  uint64_t unwanted(const Task& task, const Node& node) const {
    uint64_t mask = 0;
    for (size_t i = 0; i < std::min<size_t>(node.edges.size(), 64); ++i)
      if (!wants(target(task, i))) mask |= uint64_t{1} << i;
    return mask;
  }

  static void run_hook(const tape::Hooked<tape::Hook>& hook, Tensor& g) {
    if (!hook.on) return;
    Tensor changed = hook.run(g);
    if (!changed.defined()) return;
    TANTU_CHECK(changed.sizes() == g.sizes() && changed.dtype() == g.dtype() && changed.device() == g.device(),
                AutogradError, "register_hook: the hook has changed the gradient from {} {} on {} to {} {} on {}",
                g.dtype(), g.sizes(), g.device(), changed.dtype(), changed.sizes(), changed.device());
    g = std::move(changed);
  }

  void run_hooks(Node& node, const Task& task, TensorList& grads) {
    for (size_t i = 0; i < node.hooks.size(); ++i) {
      const auto [slot, hook] = node.hooks[i];
      if (Tensor& g = grads[static_cast<size_t>(slot)]; g.defined()) run_hook(*hook, g);
    }
    for (auto& [slot, place] : node.retained)
      if (const Tensor& g = grads[static_cast<size_t>(slot)]; g.defined())
        *place = place->defined() ? tantu::add(*place, g) : g.clone();
    if (!task.captured) return;
    for (Capture& capture : captures_)
      if (capture.edge.node.get() == &node) capture.value = grads[static_cast<size_t>(capture.edge.slot)];
  }

  void check(const Node& node, const TensorList& results) const {
    TANTU_CHECK(results.size() == node.edges.size(), AutogradError,
                "{}: returned an incorrect number of gradients (expected {}, got {})", node.name, node.edges.size(),
                results.size());
    if (!detail::grad_state().anomaly) return;
    NoGradGuard no_grad;
    for (size_t i = 0; i < results.size(); ++i)
      TANTU_CHECK(!results[i].defined() || !node.edges[i] || !is_floating(results[i].dtype()) ||
                      !ne(results[i], results[i]).any().item<bool>(),
                  AutogradError, "{0}: Function '{0}' returned nan values in its {1}th output; the forward call is {2}",
                  node.name, i, forward_line(node));
  }

  void deliver(const Node& from, size_t i, int target, Tensor result) {
    if (target == kNowhere) return;
    if (target < 0) {
      Leaf& leaf = leaves_[static_cast<size_t>(~target)];
      if (result.defined() && leaf.wanted)
        leaf.sum.add(
            fit(from, i, std::move(result), {leaf.impl->sizes, leaf.impl->dtype, leaf.impl->storage->device()}),
            create_graph_);
      if (--leaf.missing == 0) finish(leaf);
    } else if (result.defined() && wants(target)) {
      const Edge& edge = from.edges[i];
      sum_of(target, edge.slot)
          .add(fit(from, i, std::move(result), edge.node->outputs[static_cast<size_t>(edge.slot)]), create_graph_);
    }
  }

  static bool expands_to(const Shape& from, const Shape& to) {
    const int lead = to.size() - from.size();
    if (lead < 0) return false;
    for (int d = 0; d < from.size(); ++d)
      if (from[d] != 1 && from[d] != to[lead + d]) return false;
    return true;
  }

  // A gradient must look like what it is the gradient of; a broadcast one is summed back.
  static Tensor fit(const Node& from, size_t i, Tensor g, const OutputInfo& wanted) {
    if (!(g.sizes() == wanted.sizes)) {
      TANTU_CHECK(expands_to(wanted.sizes, g.sizes()), AutogradError,
                  "{}: returned an invalid gradient at index {} - got {} but expected shape compatible with {} (the "
                  "forward call is {})",
                  from.name, i, g.sizes(), wanted.sizes, forward_line(from));
      g = sum_to_size(g, wanted.sizes);
    }
    if (g.dim() == 0 && wanted.device.is_cpu()) g = g.to(wanted.device);  // of a number beside a GPU's tensor
    TANTU_CHECK(g.device() == wanted.device, DeviceError,
                "{}: returned an invalid gradient at index {} - expected device {} but got {}", from.name, i,
                wanted.device, g.device());
    return g.dtype() == wanted.dtype ? std::move(g) : g.to(wanted.dtype);
  }

  void finish(Leaf& leaf) {
    Tensor g = leaf.sum.take();
    if (!g.defined() || !leaf.wanted) return;
    const Tensor tensor(leaf.impl);
    Meta& meta = tape::meta_of(tensor);
    if (!meta.requires_grad) return;  // switched off since
    for (size_t i = 0; i < meta.hooks.size(); ++i) run_hook(*std::shared_ptr(meta.hooks[i]), g);
    if (capturing_) {
      for (Capture& capture : captures_)
        if (capture.edge.leaf == leaf.impl) capture.value = g;
      return;
    }
    accumulate(tensor, meta, std::move(g));
    for (size_t i = 0; i < meta.post_hooks.size(); ++i)
      if (const auto hook = meta.post_hooks[i]; hook->on) hook->run(tensor);
  }

  // Threads with graphs of their own may share a leaf.
  void accumulate(const Tensor& leaf, Meta& meta, Tensor g) {
    static std::mutex mutexes[64];
    std::lock_guard lock(mutexes[reinterpret_cast<uintptr_t>(&meta) / sizeof(Meta) % 64]);
    if (!meta.grad.defined()) meta.grad = tape::first_gradient(leaf, std::move(g), create_graph_);
    else if (create_graph_) meta.grad = tantu::add(meta.grad, g);
    else meta.grad.add_(g);
  }

  bool retain_graph_, create_graph_, capturing_ = false;
  int slots_ = 0;
  tape::PointerMap index_;
  std::vector<Task> tasks_;
  std::vector<int> targets_, order_;
  std::vector<GradientSum> sums_;
  std::vector<Leaf> leaves_;
  std::vector<Capture> captures_;
  BackwardStreams streams_;
  std::vector<Seed> seeds_;
};

Tensor root_gradient(const char* op, size_t i, const Tensor& root, const Tensor& given) {
  TANTU_CHECK(root.requires_grad(), AutogradError,
              "{}: element {} of tensors does not require grad and does not have a grad_fn ({} {})", op, i,
              root.dtype(), root.sizes());
  if (!given.defined()) {
    TANTU_CHECK(root.numel() == 1, AutogradError,
                "{}: grad can be implicitly created only for scalar outputs, but the root has shape {}", op,
                root.sizes());
    return ones(root.sizes(), {.dtype = root.dtype(), .device = root.device()});
  }
  TANTU_CHECK(given.sizes() == root.sizes(), ShapeError,
              "{}: Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}", op, i,
              given.sizes(), i, root.sizes());
  TANTU_CHECK(given.device() == root.device(), DeviceError, "{}: grad_output[{}] is on {} and output[{}] on {}", op, i,
              given.device(), i, root.device());
  return given.dtype() == root.dtype() ? given : given.to(root.dtype());
}

void seed_all(const char* op, Engine& engine, const TensorList& roots, const TensorList& gradients) {
  TANTU_CHECK(gradients.empty() || gradients.size() == roots.size(), ValueError, "{}: got {} tensors and {} gradients",
              op, roots.size(), gradients.size());
  for (size_t i = 0; i < roots.size(); ++i)
    engine.seed(roots[i], root_gradient(op, i, roots[i], gradients.empty() ? Tensor() : gradients[i]));
}

}  // namespace

void backward(const TensorList& roots, const TensorList& gradients, bool retain_graph, bool create_graph, Site at) {
  tape::Op op("backward", at);
  GradModeGuard mode(create_graph);
  Engine engine(retain_graph || create_graph, create_graph);
  seed_all("backward", engine, roots, gradients);
  engine.run();
}

TensorList grad(const TensorList& outputs, const TensorList& inputs, const TensorList& gradients, bool retain_graph,
                bool create_graph, bool allow_unused, Site at) {
  tape::Op op("grad", at);
  GradModeGuard mode(create_graph);
  Engine engine(retain_graph || create_graph, create_graph);
  for (const Tensor& input : inputs) {
    TANTU_CHECK(input.requires_grad(), AutogradError,
                "grad: One of the differentiated Tensors does not require grad ({} {})", input.dtype(), input.sizes());
    engine.capture(input);
  }
  seed_all("grad", engine, outputs, gradients);
  engine.run();
  TensorList result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    result.push_back(engine.take(i));
    TANTU_CHECK(allow_unused || result.back().defined(), AutogradError,
                "grad: One of the differentiated Tensors appears to not have been used in the graph ({} {}). "
                "Set allow_unused = true if this is the desired behavior",
                inputs[i].dtype(), inputs[i].sizes());
  }
  return result;
}

}  // namespace tantu
