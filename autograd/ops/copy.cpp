#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/overlap.h>
#include <tantu/autograd/tape.h>
#include <tantu/kernels/copy.h>

namespace tantu {

namespace {

void copy_bytes(const char* op, const Tensor& from, Tensor& to) {  // both contiguous, same dtype, at least one on a GPU
  Backend& backend = backend_of(op, from.device().is_cpu() ? to.device() : from.device());
  if (trace::enabled()) trace::record({trace::Kind::Copy, op, to.device(), from.nbytes(), to.data_ptr()});
  backend.copy(to.data_ptr(), to.device(), from.data_ptr(), from.device(), from.nbytes());
}

// y = x whatever their devices, dtypes and strides; no tape.
void copy_values(const char* op, const Tensor& x, Tensor& y) {
  if (x.numel() == 0) return;
  if (x.device() == y.device()) {
    on_device(x.device(), op, [&](auto& ctx) { copy(ctx, x.in(), y.out()); });
    return;
  }
  // Between devices whole blocks move; what else is to be done is done on the side that has the elements.
  NoGradGuard no_grad;
  const Tensor packed = x.to(y.dtype()).contiguous();
  if (y.is_contiguous()) {
    copy_bytes(op, packed, y);
    return;
  }
  Tensor landed = make_tensor(op, y.sizes(), y.dtype(), y.device());
  copy_bytes(op, packed, landed);
  copy_values(op, landed, y);
}

Tensor moved(const char* op, const Tensor& x, Device device, DType dtype, const char* grad_name) {
  Tensor y = make_tensor(op, x.sizes(), dtype, device);
  copy_values(op, x, y);
  if (tape::wants(x) && is_floating(dtype))
    tape::record(grad_name, {&y}, {x}, {}, [from = x.device(), type = x.dtype()](tape::Backward& b) {
      return TensorList{b.grad().to(from, type)};
    });
  return y;
}

}  // namespace

Tensor clone(const Tensor& x, Site at) {
  tape::Op op("clone", at);
  return moved("clone", x, x.device(), x.dtype(), "CloneBackward0");
}

Tensor Tensor::clone(Site at) const {
  return tantu::clone(*this, at);
}

Tensor Tensor::contiguous(Site at) const {
  return is_contiguous() ? *this : tantu::clone(*this, at);
}

Tensor Tensor::to(Device device, DType dtype, Site at) const {
  tape::Op op("to", at);
  if (device == this->device() && dtype == this->dtype()) return *this;
  return moved("to", *this, device, dtype, "ToCopyBackward0");
}

Tensor Tensor::to(Device device, Site at) const {
  return to(device, dtype(), at);
}
Tensor Tensor::to(DType dtype, Site at) const {
  return to(device(), dtype, at);
}
Tensor Tensor::cpu(Site at) const {
  return to(kCPU, dtype(), at);
}
Tensor Tensor::cuda(int index, Site at) const {
  return to(Device(DeviceType::CUDA, index), dtype(), at);
}

Tensor& Tensor::copy_(const Tensor& source, Site at) {
  tape::Op op("copy_", at);
  tape::check_inplace("copy_", *this);
  TANTU_CHECK(broadcast_shapes("copy_", sizes(), source.sizes()) == sizes(), ShapeError,
              "copy_: a source of shape {} does not broadcast to {}", source.sizes(), sizes());
  const Tensor from = source.sizes() == sizes() ? source : source.detach().expand(sizes());
  if (impl_ == source.ref()) return *this;
  const Tensor apart = apart_from("copy_", *this, from);
  copy_values("copy_", apart.defined() ? apart : from, *this);
  if (tape::wants(*this, source) && is_floating(dtype()))
    tape::record_inplace("CopyBackwards", *this, {*this, source}, {},
                         [sizes = source.sizes(), device = source.device(), type = source.dtype()](tape::Backward& b) {
                           const Tensor g = b.grad();
                           TensorList result{zeros_like(g), Tensor()};
                           if (b.needs(1)) result[1] = sum_to_size(g, sizes).to(device, type);
                           return result;
                         });
  else tape::written(*this);
  return *this;
}

Tensor Tensor::detach(Site at) const {
  tape::Op op("detach", at);
  return make_view(impl().storage, dtype(), sizes(), strides(), storage_offset());
}

Scalar Tensor::item_scalar(Site at) const {
  tape::Op op("item", at);
  TANTU_CHECK(numel() == 1, ShapeError, "item: a Tensor with {} elements cannot be converted to Scalar", numel());
  const SyncReasonScope reason(SyncReason::Item);
  const Tensor host = detach().cpu();
  return visit_dtype(dtype(), [&]<class T>(Tag<T>) {
    const T value = *host.data_ptr<T>();
    if constexpr (std::is_same_v<T, bool>) return Scalar(value);
    else if constexpr (std::is_integral_v<T>) return Scalar(static_cast<int64_t>(value));
    else return Scalar(static_cast<double>(value));
  });
}

void set_data(Tensor& t, const Tensor& source, Site at) {
  tape::Op op("set_data", at);
  TANTU_CHECK(!t.requires_grad() || is_floating(source.dtype()), DTypeError,
              "set_data: a tensor that requires a gradient cannot become {}", source.dtype());
  TensorImpl& to = t.impl();
  const TensorImpl& from = source.impl();
  to.storage = from.storage;
  to.sizes = from.sizes;
  to.strides = from.strides;
  to.offset = from.offset;
  to.numel = from.numel;
  to.dtype = from.dtype;
  to.contiguous = from.contiguous;
}

template <class T>
std::vector<T> Tensor::to_vector(Site at) const {
  tape::Op op("to_vector", at);
  const Tensor host = detach().cpu().to(dtype_of<T>).contiguous();
  const T* data = host.data_ptr<T>();
  return in_host_memory("to_vector", [&] { return std::vector<T>(data, data + host.numel()); });
}
template std::vector<float> Tensor::to_vector(Site) const;
template std::vector<double> Tensor::to_vector(Site) const;
template std::vector<int64_t> Tensor::to_vector(Site) const;
template std::vector<int32_t> Tensor::to_vector(Site) const;
template std::vector<uint8_t> Tensor::to_vector(Site) const;
template std::vector<bool> Tensor::to_vector(Site) const;

bool equal(const Tensor& a, const Tensor& b, Site at) {
  tape::Op op("equal", at);
  tape::common_device("equal", {{"a", &a}, {"b", &b}});
  if (!(a.sizes() == b.sizes())) return false;
  NoGradGuard no_grad;
  return a.numel() == 0 || !(a != b).any().item<bool>();
}

}  // namespace tantu
