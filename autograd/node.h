#pragma once

#include <tantu/core/current.h>
#include <tantu/core/tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace tantu {

using TensorList = std::vector<Tensor>;

}  // namespace tantu

/// The tape. A recorded operation is a `Node`; its edges lead to what made its inputs. Users never need this header.
namespace tantu::tape {

class Node;

/// Where the gradient of one input goes: to output `slot` of the node that made it, or to a leaf tensor, or nowhere.
struct Edge {
  Ref<Node> node;
  Ref<TensorImpl> leaf;
  int slot = 0;
  explicit operator bool() const { return node || leaf; }
};

/// What a gradient of an output must look like.
struct OutputInfo {
  Shape sizes;
  DType dtype;
  Device device;
};

/// A function that runs at a gradient, and whether it still does.
template <class F>
struct Hooked {
  F run;
  bool on = true;
};
using Hook = std::function<Tensor(const Tensor&)>;
using PostHook = std::function<void(const Tensor&)>;

/// A saved tensor that is not kept but made again when it is asked for.
class Remade : public RefCounted {
 public:
  virtual ~Remade();
  /// The values, without history.
  virtual Tensor make() = 0;
  Edge history;  ///< of the tensor that was saved
};
void destroy(Remade* remade);

/// While one is set on a thread, every tensor about to be saved there is offered to it first (autograd/checkpoint).
class SaveFilter {
 public:
  virtual ~SaveFilter();
  /// What stands for the tensor from now on, or null to keep the tensor itself.
  virtual Ref<Remade> offer(const Tensor& t, bool is_output) = 0;
};
SaveFilter*& save_filter();

/// A tensor kept for the backward pass, with the version it had: an in-place write in between is found at `unpack`.
class Saved {
 public:
  Saved() = default;
  /// An input of the node. Unless it is a leaf, its elements and its history are kept, not the tensor itself: a later
  /// in-place write would make this node the tensor's history, and the two would keep each other alive.
  explicit Saved(const Tensor& input);
  /// Output `slot` of the node itself: kept without its history, for the same reason.
  static Saved output(const Tensor& y, int slot = 0);

  /// The tensor, with its history. AutogradError if it was overwritten.
  Tensor unpack(Node& node) const;
  void release();

 private:
  Tensor tensor_;
  Ref<Remade> remade_;
  Ref<Node> maker_;  // of an input that is not a leaf; null for an output, whose maker is the node itself
  uint32_t version_ = 0;
  int slot_ = 0;  // of the maker
  bool is_output_ = false;
};

/// One recorded operation.
class Node : public RefCounted {
 public:
  explicit Node(const char* name);
  virtual ~Node();

  /// Gradients of the inputs, one per edge (undefined = zero), from gradients of the outputs (undefined = zero).
  virtual TensorList apply(TensorList& grads) = 0;
  /// Lets go of the saved tensors after a backward that does not retain the graph.
  virtual void release_saved();
  Tensor saved(int i);
  /// Whether this backward uses the gradient of an input.
  bool needs(int input) const;
  /// The gradient of an output, zeros where none arrived.
  Tensor materialized(TensorList& grads, int slot) const;
  /// Gives the node its place in the order of the tape; called when its edges are known.
  void number();

  const char* name;
  uint64_t sequence = 0;       ///< grows with every node of the process: consumers have larger numbers than producers
  Site site;                   ///< the line of the forward call
  gpu::ChosenStreams streams;  ///< what the forward call ran on
  std::vector<Edge> edges;
  std::vector<OutputInfo> outputs;
  std::vector<Saved> saved_tensors;
  std::vector<std::pair<int, std::shared_ptr<Hooked<Hook>>>> hooks;  ///< (output slot, hook), in order of registration
  std::vector<std::pair<int, std::shared_ptr<Tensor>>> retained;     ///< where `retain_grad` wants a copy
  bool released = false;
};

void destroy(Node* node);  // iterative: a chain of a million nodes must not overflow the stack

/// While alive, `needs` of one node says no for the edges whose bit is set: `grad()` does not ask for everything.
class PrunedEdges {
 public:
  PrunedEdges(const Node* node, uint64_t edges);
  ~PrunedEdges();
  PrunedEdges(const PrunedEdges&) = delete;
  PrunedEdges& operator=(const PrunedEdges&) = delete;

 private:
  const Node* node_;
  uint64_t edges_;
};

/// What autograd notes on a tensor.
struct Meta final : AutogradMeta {
  Ref<Node> grad_fn;
  int slot = 0;
  Tensor grad;
  std::shared_ptr<Tensor> retained;
  std::vector<std::shared_ptr<Hooked<Hook>>> hooks;  ///< of a leaf
  std::vector<std::shared_ptr<Hooked<PostHook>>> post_hooks;
  Tensor base;                     ///< defined for a view: the tensor whose elements it shows
  uint32_t view_version = 0;       ///< the storage's version when `grad_fn` was made
  bool made_without_grad = false;  ///< a view made where nothing was recorded, of a tensor that requires grad

  bool base_requires_grad(uint32_t version) const override;
};

Meta& meta_of(const Tensor& t);  ///< makes one where there is none
inline Meta* find_meta(const Tensor& t) {
  return static_cast<Meta*>(t.impl().autograd.get());
}
/// The node that made `t` (null for a leaf). A view whose base was written since gets its history anew.
Ref<Node> grad_fn(const Tensor& t);
/// The edge a consumer of `t` records.
Edge edge_of(const Tensor& t);

}  // namespace tantu::tape
