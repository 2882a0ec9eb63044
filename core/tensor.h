#pragma once

#include <tantu/core/generator.h>
#include <tantu/core/ref.h>
#include <tantu/core/scalar.h>
#include <tantu/core/site.h>
#include <tantu/core/storage.h>
#include <tantu/core/view.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tantu {

class Tensor;
class Operand;
class Index;
class Stream;

/// The tape's note on a tensor; what is in it is the business of autograd/.
struct TANTU_API AutogradMeta {
  bool requires_grad = false;
  bool is_view = false;
  virtual ~AutogradMeta();
  /// For a view: whether its base came to require a gradient by a later in-place write.
  virtual bool base_requires_grad(uint32_t version) const = 0;
};

/// The body of a tensor. Users hold it through `Tensor`.
struct TensorImpl : RefCounted {
  Ref<Storage> storage;
  Shape sizes;
  Strides strides;
  int64_t offset = 0;  ///< elements from the storage's start
  int64_t numel = 0;
  DType dtype = kFloat32;
  bool contiguous = true;
  std::unique_ptr<AutogradMeta> autograd;
};

void destroy(TensorImpl* impl);

/// What creation functions take: `zeros({2, 3}, {.dtype = kFloat64, .device = "cuda:1"})`.
struct TensorOptions {
  std::optional<DType> dtype = {};  ///< float32 unless the function says otherwise
  Device device = kCPU;
  bool requires_grad = false;
};

/// One or more dimensions, or all of them: `sum(x)`, `sum(x, 1)`, `sum(x, {0, 2})`. Negative ones count from the end.
class Axes {
 public:
  Axes() = default;
  Axes(int64_t dim) : dims_{dim}, all_(false) {}
  Axes(int dim) : Axes(static_cast<int64_t>(dim)) {}
  Axes(std::initializer_list<int64_t> dims) : dims_(dims), all_(dims.size() == 0) {}
  Axes(const Dims& dims) : dims_(dims), all_(dims.empty()) {}

  bool all() const { return all_; }
  const Dims& dims() const { return dims_; }

 private:
  Dims dims_;
  bool all_ = true;
};

/// An n-dimensional array of one dtype on one device: a handle, cheap to copy; copies and views share the elements.
///
/// Names and behaviour are PyTorch's. Functions that end in `_` write in place. Most methods are also functions
/// (`tantu::sum(x)`), documented in `autograd/ops/`; they are defined there, beside the operation they call.
class Tensor {
 public:
  Tensor() = default;  ///< holds nothing: `defined()` is false
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  // What it is.
  bool defined() const { return static_cast<bool>(impl_); }
  int64_t dim() const { return impl().sizes.size(); }
  const Shape& sizes() const { return impl().sizes; }
  const Shape& shape() const { return impl().sizes; }
  /// The size of one dimension; negative counts from the end.
  int64_t size(int64_t dim) const;
  const Strides& strides() const { return impl().strides; }
  int64_t stride(int64_t dim) const;
  int64_t storage_offset() const { return impl().offset; }
  int64_t numel() const { return impl().numel; }
  DType dtype() const { return impl().dtype; }
  Device device() const { return impl().storage->device(); }
  bool is_contiguous() const { return impl().contiguous; }
  int64_t element_size() const { return item_size(dtype()); }
  int64_t nbytes() const { return numel() * element_size(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  /// The options that make a like tensor.
  TensorOptions options() const { return {dtype(), device()}; }
  /// Counts the in-place writes to its storage.
  uint32_t version() const { return impl().storage->version(); }

  // Its elements.
  /// The first element on the host or the device; DTypeError unless T is the dtype's C++ type.
  template <class T>
  T* data_ptr() const {
    check_dtype(dtype_of<T>);
    return static_cast<T*>(raw());
  }
  void* data_ptr() const { return raw(); }
  /// Work of `stream`, put in before this tensor's memory is freed, uses the memory: it is not given to others before
  /// that work is done. Needed where a tensor made on one stream is used on another; nothing for the stream it was made
  /// on.
  void record_stream(const Stream& stream) const;
  /// The value of a tensor of one element, converted to T, an element type (float, double, int64_t, int, bool …).
  /// ValueError if T cannot hold it.
  template <class T>
  T item(Site at = Site::here()) const {
    const Scalar s = item_scalar(at).checked("item", dtype_of<T>);
    if constexpr (std::is_same_v<T, bool>) return s.to_double() != 0;
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(s.to_int64());
    else return static_cast<T>(s.to_double());
  }
  Scalar item_scalar(Site at = Site::here()) const;
  /// The elements in row-major order, copied to the host and converted to T.
  template <class T>
  std::vector<T> to_vector(Site at = Site::here()) const;
  /// What kernels see of it: `out()` to write, `in()` to read.
  View out();
  ConstView in() const;
  /// For a tensor of one element: whether it is not zero.
  explicit operator bool() const { return item<bool>(); }
  /// PyTorch's layout; see core/print.h for the options.
  std::string to_string() const;

  // Gradients.
  bool requires_grad() const {
    const AutogradMeta* meta = impl().autograd.get();
    return meta && (meta->requires_grad || (meta->is_view && meta->base_requires_grad(version())));
  }
  Tensor& requires_grad_(bool on = true);
  bool is_leaf() const;
  /// The gradient accumulated by `backward`, or an undefined tensor.
  Tensor grad() const;
  void set_grad(const Tensor& grad);
  /// "AddBackward0" …; empty for a leaf.
  std::string grad_fn_name() const;
  /// Computes the gradients of the leaves this tensor depends on and adds them to their `grad()`.
  /// `gradient` may be absent for a tensor of one element.
  void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false,
                Site at = Site::here()) const;
  /// The same elements outside of the tape.
  Tensor detach(Site at = Site::here()) const;
  Tensor& detach_();
  /// Makes `backward` keep this non-leaf's gradient.
  void retain_grad() const;

  // Moves and conversions.
  /// This tensor when it is there already, else a copy.
  Tensor to(Device device, Site at = Site::here()) const;
  Tensor to(DType dtype, Site at = Site::here()) const;
  Tensor to(Device device, DType dtype, Site at = Site::here()) const;
  Tensor cpu(Site at = Site::here()) const;
  Tensor cuda(int index = 0, Site at = Site::here()) const;
  Tensor clone(Site at = Site::here()) const;
  /// This tensor when it is row-major already, else a row-major copy.
  Tensor contiguous(Site at = Site::here()) const;
  Tensor to_float(Site at = Site::here()) const { return to(kFloat32, at); }
  Tensor to_double(Site at = Site::here()) const { return to(kFloat64, at); }
  Tensor to_long(Site at = Site::here()) const { return to(kInt64, at); }

  // Writing in place.
  Tensor& copy_(const Tensor& source, Site at = Site::here());
  Tensor& fill_(const Operand& value, Site at = Site::here());
  Tensor& zero_(Site at = Site::here());
  Tensor& add_(const Operand& other, Scalar alpha = 1, Site at = Site::here());
  Tensor& sub_(const Operand& other, Scalar alpha = 1, Site at = Site::here());
  Tensor& mul_(const Operand& other, Site at = Site::here());
  Tensor& div_(const Operand& other, Site at = Site::here());
  Tensor& addcmul_(const Tensor& a, const Tensor& b, double value = 1, Site at = Site::here());
  Tensor& addcdiv_(const Tensor& a, const Tensor& b, double value = 1, Site at = Site::here());
  Tensor& lerp_(const Tensor& end, double weight, Site at = Site::here());
  Tensor& clamp_(std::optional<double> min, std::optional<double> max, Site at = Site::here());
  Tensor& masked_fill_(const Tensor& mask, const Operand& value, Site at = Site::here());
  Tensor& index_put_(std::initializer_list<Index> indices, const Operand& value, bool accumulate = false,
                     Site at = Site::here());
  Tensor& scatter_(int64_t dim, const Tensor& index, const Operand& source, Site at = Site::here());
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& source, Site at = Site::here());
  Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& source, double alpha = 1, Site at = Site::here());
  Tensor& uniform_(double from = 0, double to = 1, std::optional<Generator> generator = {}, Site at = Site::here());
  Tensor& normal_(double mean = 0, double std = 1, std::optional<Generator> generator = {}, Site at = Site::here());
  Tensor& random_(int64_t low, int64_t high, std::optional<Generator> generator = {}, Site at = Site::here());
  Tensor& random_(std::optional<Generator> generator = {}, Site at = Site::here());
  Tensor& bernoulli_(double p = 0.5, std::optional<Generator> generator = {}, Site at = Site::here());
  Tensor& exponential_(double lambda = 1, std::optional<Generator> generator = {}, Site at = Site::here());
  Tensor& relu_(Site at = Site::here());
  Tensor& operator+=(const Operand& other);
  Tensor& operator-=(const Operand& other);
  Tensor& operator*=(const Operand& other);
  Tensor& operator/=(const Operand& other);

  // Shape.
  Tensor view(const Shape& shape, Site at = Site::here()) const;
  Tensor reshape(const Shape& shape, Site at = Site::here()) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1, Site at = Site::here()) const;
  Tensor transpose(int64_t dim0, int64_t dim1, Site at = Site::here()) const;
  /// The transpose of a matrix.
  Tensor t(Site at = Site::here()) const;
  Tensor permute(const Dims& dims, Site at = Site::here()) const;
  Tensor expand(const Shape& shape, Site at = Site::here()) const;
  Tensor expand_as(const Tensor& other, Site at = Site::here()) const;
  Tensor repeat(const Dims& counts, Site at = Site::here()) const;
  Tensor squeeze(Site at = Site::here()) const;
  Tensor squeeze(int64_t dim, Site at = Site::here()) const;
  Tensor unsqueeze(int64_t dim, Site at = Site::here()) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length, Site at = Site::here()) const;
  Tensor slice(int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> end = {}, int64_t step = 1,
               Site at = Site::here()) const;
  Tensor select(int64_t dim, int64_t index, Site at = Site::here()) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1, Site at = Site::here()) const;
  Tensor as_strided(const Shape& sizes, const Strides& strides, int64_t offset, Site at = Site::here()) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0, Site at = Site::here()) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0, Site at = Site::here()) const;
  /// `x[i]`: the i-th slice of the first dimension (a view).
  Tensor operator[](int64_t index) const;
  /// `x.index({Slice(1, 3), None, mask, tensor})`: PyTorch's indexing.
  Tensor index(std::initializer_list<Index> indices, Site at = Site::here()) const;
  Tensor index_select(int64_t dim, const Tensor& index, Site at = Site::here()) const;
  Tensor gather(int64_t dim, const Tensor& index, Site at = Site::here()) const;
  Tensor masked_fill(const Tensor& mask, const Operand& value, Site at = Site::here()) const;
  Tensor nonzero(Site at = Site::here()) const;
  Tensor flip(const Dims& dims, Site at = Site::here()) const;
  Tensor tril(int64_t diagonal = 0, Site at = Site::here()) const;
  Tensor triu(int64_t diagonal = 0, Site at = Site::here()) const;

  // Arithmetic.
  Tensor add(const Operand& other, Scalar alpha = 1, Site at = Site::here()) const;
  Tensor sub(const Operand& other, Scalar alpha = 1, Site at = Site::here()) const;
  Tensor mul(const Operand& other, Site at = Site::here()) const;
  Tensor div(const Operand& other, Site at = Site::here()) const;
  Tensor pow(const Operand& exponent, Site at = Site::here()) const;
  Tensor neg(Site at = Site::here()) const;
  Tensor abs(Site at = Site::here()) const;
  Tensor exp(Site at = Site::here()) const;
  Tensor log(Site at = Site::here()) const;
  Tensor sqrt(Site at = Site::here()) const;
  Tensor rsqrt(Site at = Site::here()) const;
  Tensor square(Site at = Site::here()) const;
  Tensor sin(Site at = Site::here()) const;
  Tensor cos(Site at = Site::here()) const;
  Tensor tanh(Site at = Site::here()) const;
  Tensor sigmoid(Site at = Site::here()) const;
  Tensor relu(Site at = Site::here()) const;
  Tensor clamp(std::optional<double> min, std::optional<double> max, Site at = Site::here()) const;
  Tensor eq(const Operand& other, Site at = Site::here()) const;
  Tensor ne(const Operand& other, Site at = Site::here()) const;
  Tensor lt(const Operand& other, Site at = Site::here()) const;
  Tensor le(const Operand& other, Site at = Site::here()) const;
  Tensor gt(const Operand& other, Site at = Site::here()) const;
  Tensor ge(const Operand& other, Site at = Site::here()) const;
  Tensor isnan(Site at = Site::here()) const;
  Tensor isfinite(Site at = Site::here()) const;

  // Reductions.
  Tensor sum(const Axes& dims = {}, bool keepdim = false, Site at = Site::here()) const;
  Tensor mean(const Axes& dims = {}, bool keepdim = false, Site at = Site::here()) const;
  Tensor prod(Site at = Site::here()) const;
  Tensor prod(int64_t dim, bool keepdim = false, Site at = Site::here()) const;
  Tensor max(Site at = Site::here()) const;
  Tensor min(Site at = Site::here()) const;
  std::pair<Tensor, Tensor> max(int64_t dim, bool keepdim = false, Site at = Site::here()) const;
  std::pair<Tensor, Tensor> min(int64_t dim, bool keepdim = false, Site at = Site::here()) const;
  Tensor amax(const Axes& dims = {}, bool keepdim = false, Site at = Site::here()) const;
  Tensor amin(const Axes& dims = {}, bool keepdim = false, Site at = Site::here()) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false, Site at = Site::here()) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false, Site at = Site::here()) const;
  Tensor var(const Axes& dims = {}, double correction = 1, bool keepdim = false, Site at = Site::here()) const;
  Tensor std(const Axes& dims = {}, double correction = 1, bool keepdim = false, Site at = Site::here()) const;
  Tensor norm(double p = 2, const Axes& dims = {}, bool keepdim = false, Site at = Site::here()) const;
  Tensor logsumexp(const Axes& dims, bool keepdim = false, Site at = Site::here()) const;
  Tensor cumsum(int64_t dim, Site at = Site::here()) const;
  Tensor all(Site at = Site::here()) const;
  Tensor any(Site at = Site::here()) const;
  std::pair<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false, Site at = Site::here()) const;
  std::pair<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true,
                                 Site at = Site::here()) const;

  // Linear algebra and friends.
  Tensor matmul(const Tensor& other, Site at = Site::here()) const;
  Tensor mm(const Tensor& other, Site at = Site::here()) const;
  Tensor bmm(const Tensor& other, Site at = Site::here()) const;
  Tensor dot(const Tensor& other, Site at = Site::here()) const;
  Tensor softmax(int64_t dim, Site at = Site::here()) const;
  Tensor log_softmax(int64_t dim, Site at = Site::here()) const;

  // For the floors above.
  TensorImpl& impl() const {
    if (__builtin_expect(!impl_, false)) undefined();
    return *impl_.get();
  }
  const Ref<TensorImpl>& ref() const { return impl_; }

 private:
  void* raw() const {
    const TensorImpl& i = impl();
    return static_cast<char*>(i.storage->data()) + i.offset * item_size(i.dtype);
  }
  void check_dtype(DType asked) const;
  [[noreturn]] static void undefined();

  Ref<TensorImpl> impl_;
};

/// A tensor of undefined contents, row-major; no tape, no checks beyond the sizes. The floor under `empty`.
Tensor make_tensor(const char* op, const Shape& sizes, DType dtype, Device device);
/// A tensor over part of a storage. The caller has checked that it stays inside.
Tensor make_view(const Ref<Storage>& storage, DType dtype, const Shape& sizes, const Strides& strides, int64_t offset);

/// Either a tensor or a number, as the right- and left-hand sides of arithmetic are. It also notes the line it was made
/// on, since operators cannot have default arguments. Lives no longer than the call.
class Operand {
 public:
  Operand(const Tensor& tensor, Site at = Site::here()) : tensor_(&tensor), scalar_(0), at_(at) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T value, Site at = Site::here()) : scalar_(value), at_(at) {}
  Operand(Scalar value, Site at = Site::here()) : scalar_(value), at_(at) {}

  bool is_tensor() const { return tensor_ != nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  Scalar scalar() const { return scalar_; }
  Site site() const { return at_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar scalar_;
  Site at_;
};

/// The view of a tensor that may be undefined: without data then.
inline ConstView in_or_none(const Tensor& t) {
  return t.defined() ? t.in() : ConstView();
}
inline View out_or_none(Tensor& t) {
  return t.defined() ? t.out() : View();
}

}  // namespace tantu

template <>
struct TANTU_API fmt::formatter<tantu::Tensor> : fmt::formatter<std::string_view> {
  auto format(const tantu::Tensor& t, fmt::format_context& ctx) const -> fmt::format_context::iterator;
};
