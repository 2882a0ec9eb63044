#include <tantu/autograd/ops/index.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/index_common.h>
#include <tantu/autograd/ops/selection.h>

namespace tantu {

namespace {

Tensor& put(Tensor& y, const Picks& picks, const Tensor& values, bool accumulate);

// The node keeps the index tensors; which dimensions they belong to is known from `picks`.
void keep(tape::Node& node, const Picks& picks) {
  for (const Tensor& t : picks.by_dim)
    if (t.defined()) node.saved_tensors.emplace_back(t);
}

// Brings the kept index tensors back.
class Kept {
 public:
  explicit Kept(const Picks& picks) {
    for (const Tensor& t : picks.by_dim) used_.push_back(t.defined());
  }
  Picks picks(tape::Backward& b) const {
    Picks result;
    int next = 0;
    for (size_t d = 0; d < used_.size(); ++d)
      if (used_[d]) result.set(static_cast<int>(d), b.saved(next++), static_cast<int>(d));
    return result;
  }

 private:
  std::vector<bool> used_;
};

template <class F>
Ref<tape::Node> make_node(const char* name, F backward) {
  return Ref<tape::Node>(new tape::ClosureNode<F>(name, std::move(backward)));
}

Tensor take(const Tensor& x, const Picks& picks) {
  const PickPlan p("index", x, picks);
  Tensor y = make_tensor("index", p.result, x.dtype(), x.device());
  on_device(x.device(), "index", [&](auto& ctx) { index_take(ctx, p.plan, p.block_of(x.in()), y.out()); });
  if (tape::wants(x)) {
    const auto node = make_node("IndexBackward0", [kept = Kept(picks), sizes = x.sizes()](tape::Backward& b) {
      const Tensor g = b.grad();
      Tensor whole = zeros(sizes, {.dtype = g.dtype(), .device = g.device()});
      return TensorList{put(whole, kept.picks(b), g, true)};
    });
    tape::attach(node, {&y}, &x, 1, {});
    keep(*node, picks);
  }
  return y;
}

// y[picks] = or += values, which are broadcast.
Tensor& put(Tensor& y, const Picks& picks, const Tensor& values, bool accumulate) {
  tape::check_inplace("index_put_", y);
  tape::common_device("index_put_", {{"self", &y}, {"values", &values}});
  TANTU_CHECK(values.dtype() == y.dtype(), DTypeError,
              "index_put_: Index put requires the source and destination dtypes match, got {} for the destination and "
              "{} for the source.",
              y.dtype(), values.dtype());
  const auto write = [&](Tensor& to) {
    const PickPlan p("index_put_", to, picks);
    bool fits = values.dim() <= p.result.size();
    for (int d = 1; fits && d <= values.dim(); ++d)
      fits = values.size(-d) == 1 || values.size(-d) == p.result[p.result.size() - d];
    TANTU_CHECK(
        fits, ShapeError,
        "index_put_: shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
        values.sizes(), p.result);
    const Tensor from = apart_from(to, values.detach().to(to.dtype()));
    ConstView v = from.in();
    static_cast<BasicView<const void*>&>(v) = v.broadcast_to(p.result);
    on_device(to.device(), "index_put_",
              [&](auto& ctx) { index_put(ctx, p.plan, v, p.block_of(to.out()), accumulate); });
  };
  if (accumulate) accumulate_in("index_put_", y, write);
  else write(y);
  if (!tape::wants(y, values) || !is_floating(y.dtype())) {
    tape::written(y);
    return y;
  }
  const auto node =
      make_node("IndexPutBackward0", [kept = Kept(picks), accumulate, sizes = values.sizes()](tape::Backward& b) {
        const Tensor g = b.grad();
        const Picks picks = kept.picks(b);
        TensorList result(2);
        if (b.needs(0)) {
          result[0] = g;
          if (!accumulate) {
            result[0] = g.clone();
            put(result[0], picks, zeros({}, {.dtype = g.dtype(), .device = g.device()}), false);
          }
        }
        if (b.needs(1)) result[1] = sum_to_size(take(g, picks), sizes);
        return result;
      });
  const Tensor inputs[] = {y, values};
  tape::attach_inplace(node, y, inputs, 2, {});
  keep(*node, picks);
  return y;
}

// A value for a plain view: leading dimensions of size 1 that the view has not may go.
Tensor trimmed(const Tensor& value, int rank) {
  Tensor v = value;
  while (v.dim() > rank && v.sizes()[0] == 1) v = v.select(0, 0);
  return v;
}

void write_view(Tensor& view, const Operand& value, bool accumulate) {
  if (value.is_tensor()) {
    const Tensor source = apart_from(view, trimmed(value.tensor(), view.sizes().size()));
    if (accumulate) view.add_(source);
    else view.copy_(source);
  } else if (accumulate) {
    view.add_(value);
  } else {
    view.fill_(value);
  }
}

}  // namespace

Tensor index(const Tensor& x, const IndexList& indices, Site at) {
  tape::Op op("index", at);
  const Selection s("index", x, indices);
  if (!s.picks.empty()) return take(s.view, s.picks);
  return s.view.is_same(x) ? view(x, x.sizes()) : s.view;
}

Tensor& index_put_(Tensor& x, const IndexList& indices, const Operand& value, bool accumulate, Site at) {
  tape::Op op("index_put_", at);
  Selection s("index_put_", x, indices);
  if (s.picks.empty()) {
    write_view(s.view, value, accumulate);
  } else if (value.is_tensor()) {
    put(s.view, s.picks, trimmed(value.tensor(), PickPlan("index_put_", s.view, s.picks).result.size()), accumulate);
  } else {
    const Scalar number = value.scalar().checked("index_put_", x.dtype());
    put(s.view, s.picks, full({}, number, {.dtype = x.dtype(), .device = x.device()}), accumulate);
  }
  return x;
}

Tensor index_put(const Tensor& x, const IndexList& indices, const Operand& value, bool accumulate, Site at) {
  tape::Op op("index_put", at);
  Tensor y = clone(x);
  return index_put_(y, indices, value, accumulate);
}

Tensor Tensor::index(std::initializer_list<Index> indices, Site at) const {
  return tantu::index(*this, indices, at);
}
Tensor& Tensor::index_put_(std::initializer_list<Index> indices, const Operand& value, bool accumulate, Site at) {
  return tantu::index_put_(*this, indices, value, accumulate, at);
}

}  // namespace tantu
