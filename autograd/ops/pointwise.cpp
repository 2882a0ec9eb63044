#include <tantu/autograd/ops/pointwise.h>

#include <tantu/autograd/ops/pointwise_tape.h>

namespace tantu {

using pointwise::Row;

#define TANTU_UNARY(name, PARAMS, ...)                                           \
  Tensor name(const Operand& a, TANTU_DEFINE_##PARAMS Site at) {                 \
    return pointwise::apply(Row::name, &a, TANTU_VALUES_##PARAMS, at);           \
  }                                                                              \
  Tensor& name##_(Tensor& a, TANTU_DEFINE_##PARAMS Site at) {                    \
    const Operand operand(a);                                                    \
    return pointwise::apply_(Row::name, a, &operand, TANTU_VALUES_##PARAMS, at); \
  }
#define TANTU_BINARY(name, PARAMS, ...)                                            \
  Tensor name(const Operand& a, const Operand& b, TANTU_DEFINE_##PARAMS Site at) { \
    const Operand operands[] = {a, b};                                             \
    return pointwise::apply(Row::name, operands, TANTU_VALUES_##PARAMS, at);       \
  }                                                                                \
  Tensor& name##_(Tensor& a, const Operand& b, TANTU_DEFINE_##PARAMS Site at) {    \
    const Operand operands[] = {a, b};                                             \
    return pointwise::apply_(Row::name, a, operands, TANTU_VALUES_##PARAMS, at);   \
  }
#define TANTU_TERNARY(name, PARAMS, ...)                                                             \
  Tensor name(const Operand& a, const Operand& b, const Operand& c, TANTU_DEFINE_##PARAMS Site at) { \
    const Operand operands[] = {a, b, c};                                                            \
    return pointwise::apply(Row::name, operands, TANTU_VALUES_##PARAMS, at);                         \
  }                                                                                                  \
  Tensor& name##_(Tensor& a, const Operand& b, const Operand& c, TANTU_DEFINE_##PARAMS Site at) {    \
    const Operand operands[] = {a, b, c};                                                            \
    return pointwise::apply_(Row::name, a, operands, TANTU_VALUES_##PARAMS, at);                     \
  }
#define TANTU_UNARY_OF(...)
#define TANTU_BINARY_OF(...)
#define TANTU_TERNARY_OF(...)
#include <tantu/kernels/pointwise.def>
#undef TANTU_UNARY
#undef TANTU_BINARY
#undef TANTU_TERNARY

Tensor Tensor::add(const Operand& other, Scalar alpha, Site at) const {
  return tantu::add(*this, other, alpha.to_double(), at);
}
Tensor Tensor::sub(const Operand& other, Scalar alpha, Site at) const {
  return tantu::sub(*this, other, alpha.to_double(), at);
}
Tensor Tensor::mul(const Operand& other, Site at) const {
  return tantu::mul(*this, other, at);
}
Tensor Tensor::div(const Operand& other, Site at) const {
  return tantu::div(*this, other, at);
}
Tensor Tensor::pow(const Operand& exponent, Site at) const {
  return tantu::pow(*this, exponent, at);
}
Tensor Tensor::neg(Site at) const {
  return tantu::neg(*this, at);
}
Tensor Tensor::abs(Site at) const {
  return tantu::abs(*this, at);
}
Tensor Tensor::exp(Site at) const {
  return tantu::exp(*this, at);
}
Tensor Tensor::log(Site at) const {
  return tantu::log(*this, at);
}
Tensor Tensor::sqrt(Site at) const {
  return tantu::sqrt(*this, at);
}
Tensor Tensor::rsqrt(Site at) const {
  return tantu::rsqrt(*this, at);
}
Tensor Tensor::square(Site at) const {
  return tantu::square(*this, at);
}
Tensor Tensor::sin(Site at) const {
  return tantu::sin(*this, at);
}
Tensor Tensor::cos(Site at) const {
  return tantu::cos(*this, at);
}
Tensor Tensor::tanh(Site at) const {
  return tantu::tanh(*this, at);
}
Tensor Tensor::sigmoid(Site at) const {
  return tantu::sigmoid(*this, at);
}
Tensor Tensor::relu(Site at) const {
  return tantu::relu(*this, at);
}
Tensor Tensor::clamp(std::optional<double> min, std::optional<double> max, Site at) const {
  return tantu::clamp(*this, min, max, at);
}
Tensor Tensor::isnan(Site at) const {
  return tantu::isnan(*this, at);
}
Tensor Tensor::isfinite(Site at) const {
  return tantu::isfinite(*this, at);
}
Tensor Tensor::eq(const Operand& other, Site at) const {
  return tantu::eq(*this, other, at);
}
Tensor Tensor::ne(const Operand& other, Site at) const {
  return tantu::ne(*this, other, at);
}
Tensor Tensor::lt(const Operand& other, Site at) const {
  return tantu::lt(*this, other, at);
}
Tensor Tensor::le(const Operand& other, Site at) const {
  return tantu::le(*this, other, at);
}
Tensor Tensor::gt(const Operand& other, Site at) const {
  return tantu::gt(*this, other, at);
}
Tensor Tensor::ge(const Operand& other, Site at) const {
  return tantu::ge(*this, other, at);
}

Tensor& Tensor::add_(const Operand& other, Scalar alpha, Site at) {
  return tantu::add_(*this, other, alpha.to_double(), at);
}
Tensor& Tensor::sub_(const Operand& other, Scalar alpha, Site at) {
  return tantu::sub_(*this, other, alpha.to_double(), at);
}
Tensor& Tensor::mul_(const Operand& other, Site at) {
  return tantu::mul_(*this, other, at);
}
Tensor& Tensor::div_(const Operand& other, Site at) {
  return tantu::div_(*this, other, at);
}
Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, double value, Site at) {
  return tantu::addcmul_(*this, a, b, value, at);
}
Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, double value, Site at) {
  return tantu::addcdiv_(*this, a, b, value, at);
}
Tensor& Tensor::lerp_(const Tensor& end, double weight, Site at) {
  return tantu::lerp_(*this, end, weight, at);
}
Tensor& Tensor::clamp_(std::optional<double> min, std::optional<double> max, Site at) {
  return tantu::clamp_(*this, min, max, at);
}
Tensor& Tensor::relu_(Site at) {
  return tantu::relu_(*this, at);
}
Tensor& Tensor::operator+=(const Operand& other) {
  return add_(other, 1, other.site());
}
Tensor& Tensor::operator-=(const Operand& other) {
  return sub_(other, 1, other.site());
}
Tensor& Tensor::operator*=(const Operand& other) {
  return mul_(other, other.site());
}
Tensor& Tensor::operator/=(const Operand& other) {
  return div_(other, other.site());
}

}  // namespace tantu
