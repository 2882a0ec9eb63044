#include <tantu/bench/row.h>

#include <tantu/autograd/ops.h>
#include <tantu/core/backend.h>
#include <tantu/core/matmul_options.h>

#include <string_view>

namespace bench {

using namespace tantu;

namespace {

using Tensors = std::vector<Tensor>;

constexpr int64_t kGiB = int64_t{1} << 30;

double d(int64_t n) {
  return static_cast<double>(n);
}

/// Multiplies by one library while it is alive.
class Chosen {
 public:
  explicit Chosen(std::string_view library) : before_(matmul_backend()) { set_matmul_backend(library); }
  ~Chosen() { set_matmul_backend(before_); }
  Chosen(const Chosen&) = delete;
  Chosen& operator=(const Chosen&) = delete;

 private:
  std::string before_;
};

Row ceiling(const char* name, double bytes_per_element, std::function<Tensor(const Tensor&)> call) {
  Row row;
  row.name = name;
  row.sizes = {1 << 16};
  row.gpu_sizes = {kGiB / 4};
  row.inputs = [](int64_t n, const TensorOptions& options) { return Tensors{randn({n}, options)}; };
  row.call = [call = std::move(call)](const Tensors& t) { return call(t[0]); };
  row.bytes = [=](int64_t n) { return bytes_per_element * d(n); };
  row.flops = [](int64_t) { return 0.0; };
  return row;
}

// The driver's own copy within the device.
Tensor copied_by_driver(const Tensor& x) {
  if (x.device().is_cpu()) return x.clone();
  Tensor y = empty(x.sizes(), {.dtype = x.dtype(), .device = x.device()});
  backend_of("bench", x.device()).copy(y.data_ptr(), y.device(), x.data_ptr(), x.device(), x.nbytes());
  return y;
}

Row product(std::string_view library, DType dtype) {
  Row row;
  row.name = fmt::format("matmul_{}", library);
  row.dtype = dtype;
  row.sizes = {128};
  row.gpu_sizes = {1024, 4096, 8192};
  row.inputs = [](int64_t n, const TensorOptions& o) { return Tensors{randn({n, n}, o), randn({n, n}, o)}; };
  row.call = [library = std::string(library)](const Tensors& t) {
    Chosen chosen(t[0].dtype() == kFloat64 ? "cublas" : library);  // float64 is what the others are compared with
    return matmul(t[0], t[1]);
  };
  row.bytes = [item = d(item_size(dtype))](int64_t n) { return 3 * item * d(n) * d(n); };
  row.flops = [](int64_t n) { return 2.0 * d(n) * d(n) * d(n); };
  row.growth = 32;  // sums of n products
  return row;
}

}  // namespace

std::vector<Row> gpu_rows(Device device) {
  std::vector<Row> all{ceiling("ceiling_copy", 8, copied_by_driver), ceiling("ceiling_copy_again", 8, copied_by_driver),
                       ceiling("ceiling_to_host", 4, [](const Tensor& x) { return x.to(kCPU); }),
                       ceiling("ceiling_to_device", 4, [device](const Tensor& x) { return x.to(device); })};
  all.back().inputs = [](int64_t n, const TensorOptions& o) { return Tensors{randn({n}, {.dtype = o.dtype})}; };
  for (const char* library : {"cublas", "tantu"})
    for (DType dtype : {kFloat32, kFloat16, kBFloat16}) all.push_back(product(library, dtype));
  return all;
}

}  // namespace bench
