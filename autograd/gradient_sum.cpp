#include <tantu/autograd/gradient_sum.h>

#include <tantu/autograd/ops.h>

#include <algorithm>

namespace tantu::tape {

namespace {

bool is_ours(const Tensor& t) {
  return t.ref()->use_count() == 1 && t.impl().storage->use_count() == 1 && !t.requires_grad();
}

// Whether the elements fill one block of memory, each place once, in some order of the dimensions.
bool is_dense(const Tensor& t) {
  if (t.is_contiguous()) return true;
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (int d = 0; d < t.sizes().size(); ++d)
    if (t.sizes()[d] != 1) dims.emplace_back(t.strides()[d], t.sizes()[d]);
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

bool same_strides(const Tensor& a, const Tensor& b) {
  for (int d = 0; d < a.sizes().size(); ++d)
    if (a.sizes()[d] != 1 && a.strides()[d] != b.strides()[d]) return false;
  return true;
}

}  // namespace

void GradientSum::add(Tensor g, bool create_graph) {
  if (!value_.defined()) value_ = std::move(g);
  else if (!create_graph && value_.is_contiguous() && is_ours(value_)) value_.add_(g);
  else value_ = tantu::add(value_, g);
}

Tensor first_gradient(const Tensor& leaf, Tensor g, bool create_graph) {
  if (create_graph) return g.clone();
  const bool like_leaf = is_dense(leaf);
  if (is_ours(g) && (like_leaf ? same_strides(g, leaf) : g.is_contiguous())) return g;
  if (!like_leaf || leaf.is_contiguous()) return g.detach().clone();
  const Tensor block = make_tensor("backward", {leaf.numel()}, leaf.dtype(), leaf.device());
  Tensor copy = make_view(block.impl().storage, leaf.dtype(), leaf.sizes(), leaf.strides(), 0);
  copy.copy_(g.detach());
  return copy;
}

}  // namespace tantu::tape
