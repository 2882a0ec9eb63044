#include <tantu/tests/golden/ops_cases.h>

#include <tantu/autograd/ops.h>

namespace tantu::golden {

namespace {

Call unary(Tensor (*f)(const Tensor&)) {
  return [f](const Inputs& in) { return TensorList{f(in["x"])}; };
}
Call binary(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Inputs& in) { return TensorList{f(in["a"], in["b"])}; };
}
Call pair(std::pair<Tensor, Tensor> (*f)(const Tensor&)) {
  return [f](const Inputs& in) {
    auto [values, indices] = f(in["x"]);
    return TensorList{values, indices};
  };
}
Call loss(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Inputs& in) { return TensorList{f(in["x"], in["t"])}; };
}

using T = const Tensor&;

std::map<std::string, Call> pointwise_cases() {
  return {
      {"neg", unary([](T x) { return -x; })},
      {"exp", unary([](T x) { return exp(x); })},
      {"sin", unary([](T x) { return sin(x); })},
      {"tanh", unary([](T x) { return tanh(x); })},
      {"sigmoid", unary([](T x) { return sigmoid(x); })},
      {"gelu", unary([](T x) { return gelu(x); })},
      {"gelu_tanh", unary([](T x) { return gelu(x, "tanh"); })},
      {"softplus", unary([](T x) { return softplus(x); })},
      {"elu", unary([](T x) { return elu(x); })},
      {"hardtanh", unary([](T x) { return hardtanh(x); })},
      {"clamp", unary([](T x) { return clamp(x, -0.5, 1.0); })},
      {"square", unary([](T x) { return square(x); })},
      {"pow3", unary([](T x) { return pow(x, 3); })},
      {"hardswish", unary([](T x) { return hardswish(x); })},
      {"mish", unary([](T x) { return mish(x); })},
      {"selu", unary([](T x) { return selu(x); })},
      {"relu6", unary([](T x) { return relu6(x); })},
      {"sign", unary([](T x) { return sign(x); })},
      {"floor", unary([](T x) { return floor(x); })},
      {"log", unary([](T x) { return log(x); })},
      {"sqrt", unary([](T x) { return sqrt(x); })},
      {"reciprocal", unary([](T x) { return reciprocal(x); })},
      {"log1p", unary([](T x) { return log1p(x); })},
      {"pow_half", unary([](T x) { return pow(x, 0.5); })},
      {"add", binary([](T a, T b) { return a + b; })},
      {"sub", binary([](T a, T b) { return a - b; })},
      {"sub_broadcast", binary([](T a, T b) { return a - b; })},
      {"mul_broadcast", binary([](T a, T b) { return a * b; })},
      {"maximum", binary([](T a, T b) { return maximum(a, b); })},
      {"minimum", binary([](T a, T b) { return minimum(a, b); })},
      {"minimum_broadcast", binary([](T a, T b) { return minimum(a, b); })},
      {"div_broadcast", binary([](T a, T b) { return a / b; })},
      {"pow_tensor", binary([](T a, T b) { return pow(a, b); })},
      {"broadcast_3x1_1x4", binary([](T a, T b) { return a * b; })},
      {"where", [](const Inputs& in) { return TensorList{where(in["c"], in["a"], in["b"])}; }},
      {"lerp", binary([](T a, T b) { return lerp(a, b, 0.3); })},
  };
}

std::map<std::string, Call> linalg_cases() {
  const Call product = binary([](T a, T b) { return matmul(a, b); });
  return {
      {"matmul_2d", product},
      {"matmul_vv", product},
      {"matmul_batched", product},
      {"matmul_vm", product},
      {"addmm", [](const Inputs& in) { return TensorList{addmm(in["c"], in["a"], in["b"], 0.5, 2)}; }},
      {"outer", binary([](T a, T b) { return outer(a, b); })},
      {"linear_3d", [](const Inputs& in) { return TensorList{linear(in["x"], in["w"])}; }},
  };
}

std::map<std::string, Call> reduce_cases() {
  return {
      {"sum", unary([](T x) { return sum(x); })},
      {"sum_dim1_keep", unary([](T x) { return sum(x, 1, true); })},
      {"mean", unary([](T x) { return mean(x); })},
      {"max_all", unary([](T x) { return max(x); })},
      {"max_dim1", pair([](T x) { return max(x, 1); })},
      {"amax_dim1", unary([](T x) { return amax(x, 1); })},
      {"argmax_dim1", unary([](T x) { return argmax(x, 1); })},
      {"var_biased", unary([](T x) { return var(x, 1, 0); })},
      {"std", unary([](T x) { return tantu::std(x); })},
      {"logsumexp", unary([](T x) { return logsumexp(x, 1); })},
      {"norm2", unary([](T x) { return norm(x); })},
      {"cumsum_dim1", unary([](T x) { return cumsum(x, 1); })},
      {"softmax_dim1", unary([](T x) { return softmax(x, 1); })},
      {"log_softmax_dim1", unary([](T x) { return log_softmax(x, 1); })},
      {"sort_desc", pair([](T x) { return sort(x, 1, true); })},
      {"median_dim1", pair([](T x) { return median(x, 1); })},
      {"max_all_ties", unary([](T x) { return max(x); })},
      {"max_dim_ties", pair([](T x) { return max(x, 0); })},
  };
}

std::map<std::string, Call> shape_cases() {
  return {
      {"transpose", unary([](T x) { return x.t(); })},
      {"slice_1_3", unary([](T x) { return slice(x, 1, 1, 3); })},
      {"slice_step2", unary([](T x) { return slice(x, 0, 0, 3, 2); })},
      {"flip", unary([](T x) { return flip(x, {1}); })},
      {"roll", unary([](T x) { return roll(x, {1}, {1}); })},
      {"expand", unary([](T x) {
         return slice(x, 0, 0, 1).expand({3, 4});
       })},
      {"tril", unary([](T x) { return tril(x); })},
      {"pad", unary([](T x) {
         return pad(x, {1, 2});
       })},
      {"unsqueeze_sum", unary([](T x) { return unsqueeze(x, 1); })},
      {"diagonal", unary([](T x) { return diagonal(x); })},
      {"cat", binary([](T a, T b) {
         return cat({a, b});
       })},
      {"index_select", [](const Inputs& in) { return TensorList{index_select(in["x"], 0, in["i"])}; }},
      {"gather", [](const Inputs& in) { return TensorList{gather(in["x"], 1, in["i"])}; }},
      {"masked_fill", [](const Inputs& in) { return TensorList{masked_fill(in["x"], in["m"], -2)}; }},
      {"index_fancy", [](const Inputs& in) { return TensorList{in["x"].index({in["i"]})}; }},
  };
}

TensorList batch_norm_of(const Inputs& in, bool training) {
  const Tensor mean = in["rm"].clone(), var = in["rv"].clone();
  const Tensor y = batch_norm(in["x"], mean, var, in["w"], in["b"], training, 0.1, 1e-5);
  return {y, mean, var};
}

std::map<std::string, Call> layer_cases() {
  return {
      {"batch_norm_train", [](const Inputs& in) { return batch_norm_of(in, true); }},
      {"batch_norm_eval", [](const Inputs& in) { return batch_norm_of(in, false); }},
      {"group_norm_2", [](const Inputs& in) { return TensorList{group_norm(in["x"], 2, in["w"], in["b"])}; }},
      {"instance_norm", unary([](T x) { return instance_norm(x); })},
      {"conv2d_stride1_padding0", [](const Inputs& in) { return TensorList{conv2d(in["x"], in["w"], in["b"])}; }},
      {"conv2d_stride1_padding2_dilation2",
       [](const Inputs& in) { return TensorList{conv2d(in["x"], in["w"], in["b"], 1, 2, 2)}; }},
      {"conv2d_groups2", [](const Inputs& in) { return TensorList{conv2d(in["x"], in["w"], {}, 1, 0, 1, 2)}; }},
      {"conv_transpose2d_s2_p1_op1",
       [](const Inputs& in) { return TensorList{conv_transpose2d(in["x"], in["w"], in["b"], 2, 1, 1)}; }},
      {"max_pool2d_k2", unary([](T x) { return max_pool2d(x, 2); })},
      {"avg_pool2d_k2", unary([](T x) { return avg_pool2d(x, 2); })},
      {"avg_pool2d_k3_s2_p1_nopadcount", unary([](T x) { return avg_pool2d(x, 3, 2, 1, false, false); })},
      {"embedding_padding_idx2", [](const Inputs& in) { return TensorList{embedding(in["i"], in["w"], 2)}; }},
  };
}

std::map<std::string, Call> loss_cases() {
  return {
      {"cross_entropy_mean", loss([](T x, T t) { return cross_entropy(x, t); })},
      {"cross_entropy_sum", loss([](T x, T t) { return cross_entropy(x, t, {.reduction = "sum"}); })},
      {"cross_entropy_none", loss([](T x, T t) { return cross_entropy(x, t, {.reduction = "none"}); })},
      {"cross_entropy_weight",
       [](const Inputs& in) { return TensorList{cross_entropy(in["x"], in["t"], {.weight = in["w"]})}; }},
      {"cross_entropy_ignore2", loss([](T x, T t) { return cross_entropy(x, t, {.ignore_index = 2}); })},
      {"cross_entropy_smooth01_weight",
       [](const Inputs& in) {
         return TensorList{cross_entropy(in["x"], in["t"], {.weight = in["w"], .label_smoothing = 0.1})};
       }},
      {"cross_entropy_prob_target", loss([](T x, T t) { return cross_entropy(x, t); })},
      {"mse_mean", loss([](T x, T t) { return mse_loss(x, t); })},
      {"mse_sum", loss([](T x, T t) { return mse_loss(x, t, {.reduction = "sum"}); })},
      {"mse_none", loss([](T x, T t) { return mse_loss(x, t, {.reduction = "none"}); })},
      {"nll_loss", loss([](T x, T t) { return nll_loss(log_softmax(x, 1), t); })},
      {"l1_loss", loss([](T x, T t) { return l1_loss(x, t); })},
      {"huber_delta15", loss([](T x, T t) { return huber_loss(x, t, {.delta = 1.5}); })},
      {"bce", loss([](T x, T t) { return binary_cross_entropy(x, t); })},
      {"kl_div_batchmean", loss([](T x, T t) { return kl_div(log_softmax(x, 1), t, {.reduction = "batchmean"}); })},
      {"hinge_embedding", loss([](T x, T t) { return hinge_embedding_loss(x, t); })},
      {"soft_margin", loss([](T x, T t) { return soft_margin_loss(x, t); })},
      {"triplet_margin", [](const Inputs& in) { return TensorList{triplet_margin_loss(in["a"], in["p"], in["n"])}; }},
  };
}

}  // namespace

const std::map<std::string, Call>& cases() {
  static const std::map<std::string, Call> all = [] {
    std::map<std::string, Call> merged;
    for (auto family : {pointwise_cases(), linalg_cases(), reduce_cases(), shape_cases(), layer_cases(), loss_cases()})
      merged.merge(family);
    return merged;
  }();
  return all;
}

}  // namespace tantu::golden
