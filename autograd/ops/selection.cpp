#include <tantu/autograd/ops/selection.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/mask.h>
#include <tantu/autograd/tape.h>

#include <fmt/format.h>

namespace tantu {

namespace {

bool is_mask(const Tensor& t) {
  return t.dtype() == kBool || t.dtype() == kUInt8;
}

// How many dimensions of x an entry uses up.
int consumed(const Index& entry) {
  switch (entry.kind()) {
    case Index::Kind::Integer:
    case Index::Kind::Slice: return 1;
    case Index::Kind::Tensor: return is_mask(entry.tensor()) ? entry.tensor().sizes().size() : 1;
    default: return 0;
  }
}

void check_entries(const char* op, const Tensor& x, const IndexList& indices) {
  int used = 0, ellipses = 0;
  for (const Index& entry : indices) {
    if (entry.kind() == Index::Kind::Tensor) {
      const Tensor& t = entry.tensor();
      TANTU_CHECK(is_integral(t.dtype()), IndexError,
                  "{}: tensors used as indices must be long, int, byte or bool tensors, but got {}", op, t.dtype());
      tape::common_device(op, {{"self", &x}, {"index", &t}});
    }
    used += consumed(entry);
    ellipses += entry.kind() == Index::Kind::Ellipsis;
  }
  TANTU_CHECK(used <= x.dim(), IndexError, "{}: too many indices for tensor of dimension {} (got {})", op, x.dim(),
              used);
  TANTU_CHECK(ellipses <= 1, IndexError, "{}: an index can only have a single ellipsis ('...')", op);
}

}  // namespace

bool Picks::empty() const {
  for (const Tensor& t : by_dim)
    if (t.defined()) return false;
  return true;
}

void Picks::set(int dim, Tensor index, int name) {
  const auto d = static_cast<size_t>(dim);
  if (d >= by_dim.size()) {
    by_dim.resize(d + 1);
    names.resize(d + 1);
  }
  by_dim[d] = std::move(index);
  names[d] = name;
}

Selection::Selection(const char* op, const Tensor& x, const IndexList& indices) : view(x) {
  check_entries(op, x, indices);
  int used = 0;
  for (const Index& entry : indices) used += consumed(entry);
  int dim = 0, source = 0;  // the next dimension of the view, and of x
  const auto add_bool = [&](bool value) {
    view = view.unsqueeze(dim);
    picks.set(dim++, zeros({value ? 1 : 0}, {.dtype = kInt64, .device = x.device()}), source);
  };
  const auto take = [&](int64_t position) {
    const int64_t n = view.sizes()[dim];
    TANTU_CHECK(position >= -n && position < n, IndexError,
                "{}: index {} is out of bounds for dimension {} with size {}", op, position, source, n);
    view = view.select(dim, position);
    ++source;
  };
  const auto add_mask = [&](const Tensor& mask) {
    const int rank = mask.sizes().size();
    for (int i = 0; i < rank; ++i)
      TANTU_CHECK(
          mask.sizes()[i] == view.sizes()[dim + i], IndexError,
          "{}: The shape of the mask {} at index {} does not match the shape of the indexed tensor {} at index {}", op,
          mask.sizes(), i, x.sizes(), source + i);
    if (rank > 1 && view.is_contiguous()) {  // the mask's dimensions can be one
      view = view.flatten(dim, dim + rank - 1);
      picks.set(dim++, flat_nonzero(mask), source);
      source += rank;
      return;
    }
    const Tensor positions = nonzero(mask);
    for (int i = 0; i < rank; ++i) picks.set(dim++, positions.select(1, i), source++);
  };
  for (const Index& entry : indices) {
    switch (entry.kind()) {
      case Index::Kind::Integer: take(entry.integer()); break;
      case Index::Kind::Bool: add_bool(entry.integer() != 0); break;
      case Index::Kind::None: view = view.unsqueeze(dim++); break;
      case Index::Kind::Ellipsis:
        dim += x.sizes().size() - used;
        source += x.sizes().size() - used;
        break;
      case Index::Kind::Slice: {
        const Slice& s = entry.slice();
        if (s.start() || s.stop() || s.step() != 1) view = view.slice(dim, s.start(), s.stop(), s.step());
        ++dim;
        ++source;
        break;
      }
      case Index::Kind::Tensor: {
        const Tensor& t = entry.tensor();
        if (t.dim() == 0 && is_mask(t)) add_bool(t.item<bool>());
        else if (t.dim() == 0) take(t.item<int64_t>());
        else if (is_mask(t)) add_mask(t);
        else picks.set(dim++, t, source++);
        break;
      }
    }
  }
}

PickPlan::PickPlan(const char* op, const Tensor& x, const Picks& picks) {
  Shape common;
  std::string shapes;
  int first = -1, last = -1, count = 0;
  for (size_t i = 0; i < picks.by_dim.size(); ++i) {
    const Tensor& index = picks.by_dim[i];
    if (!index.defined()) continue;
    const int d = static_cast<int>(i);
    if (first < 0) first = d;
    last = d;
    ++count;
    shapes += fmt::format("{}{}", shapes.empty() ? "" : ", ", index.sizes());
    kept_.push_back(index);
  }
  for (const Tensor& index : kept_) {
    try {
      common = broadcast_shapes(op, common, index.sizes());
    } catch (const ShapeError&) {
      throw IndexError(fmt::format(
          "{}: shape mismatch: indexing tensors could not be broadcast together with shapes {}", op, shapes));
    }
  }
  plan.op = op;
  plan.sizes = common;
  plan.base = Dims::filled(common.size(), 0);
  plan.before = last - first + 1 == count ? first : 0;
  plan.wraps = true;
  size_t next = 0;
  for (int d = 0; d < x.sizes().size(); ++d) {
    if (static_cast<size_t>(d) < picks.by_dim.size() && picks.by_dim[static_cast<size_t>(d)].defined()) {
      ConstView v = std::as_const(kept_[next++]).in();
      static_cast<BasicView<const void*>&>(v) = v.broadcast_to(common);
      plan.add(v, x.sizes()[d], x.strides()[d], picks.names[static_cast<size_t>(d)]);
    } else {
      block.push_back(x.sizes()[d]);
      block_strides.push_back(x.strides()[d]);
    }
  }
  for (int i = 0; i <= block.size(); ++i) {
    if (i == plan.before)
      for (int64_t s : common) result.push_back(s);
    if (i < block.size()) result.push_back(block[i]);
  }
}

}  // namespace tantu
