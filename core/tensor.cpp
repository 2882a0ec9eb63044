#include <tantu/core/tensor.h>

#include <tantu/core/stream.h>

namespace tantu {

AutogradMeta::~AutogradMeta() = default;

void destroy(TensorImpl* impl) {
  delete impl;
}

int64_t Tensor::size(int64_t dim) const {
  TANTU_CHECK(!sizes().empty(), IndexError, "size: Dimension specified as {} but tensor has no dimensions", dim);
  return sizes()[wrap_dim("size", dim, sizes().size())];
}

int64_t Tensor::stride(int64_t dim) const {
  TANTU_CHECK(!strides().empty(), IndexError, "stride: Dimension specified as {} but tensor has no dimensions", dim);
  return strides()[wrap_dim("stride", dim, strides().size())];
}

View Tensor::out() {
  View v;
  v.data = raw();
  v.dtype = dtype();
  v.device = device();
  v.sizes = sizes();
  v.strides = strides();
  return v;
}

void Tensor::record_stream(const Stream& stream) const {
  TANTU_CHECK(stream.device() == device(), DeviceError, "record_stream: a tensor of {} and a stream of {}", device(),
              stream.device());
  impl().storage->record_stream(stream.handle());
}

ConstView Tensor::in() const {
  return const_cast<Tensor*>(this)->out();
}

void Tensor::check_dtype(DType asked) const {
  TANTU_CHECK(asked == dtype(), DTypeError, "data_ptr: asked for {} but the tensor is {}", asked, dtype());
}

void Tensor::undefined() {
  throw Error("tensor: this handle holds no tensor (it was default-constructed or moved from)");
}

Tensor make_tensor(const char* op, const Shape& sizes, DType dtype, Device device) {
  const int64_t n = checked_numel(op, sizes);
  auto impl = make_ref<TensorImpl>();
  impl->storage = make_ref<Storage>(op, n * item_size(dtype), device);
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->numel = n;
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

Tensor make_view(const Ref<Storage>& storage, DType dtype, const Shape& sizes, const Strides& strides, int64_t offset) {
  auto impl = make_ref<TensorImpl>();
  impl->storage = storage;
  impl->sizes = sizes;
  impl->strides = strides;
  impl->offset = offset;
  impl->numel = numel(sizes);
  impl->dtype = dtype;
  impl->contiguous = is_contiguous(sizes, strides);
  return Tensor(std::move(impl));
}

}  // namespace tantu
