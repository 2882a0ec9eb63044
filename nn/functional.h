#pragma once

#include <tantu/autograd/ops.h>

/// The functions behind the modules, under PyTorch's name for them: `nn::functional::cross_entropy(logits, labels)`.
/// They are the operations of autograd/ops; nothing else is defined here.
namespace tantu::nn::functional {

using tantu::embedding;
using tantu::linear;
using tantu::one_hot;
using tantu::pad;

using tantu::adaptive_avg_pool1d;
using tantu::adaptive_avg_pool2d;
using tantu::adaptive_max_pool1d;
using tantu::adaptive_max_pool2d;
using tantu::avg_pool1d;
using tantu::avg_pool2d;
using tantu::conv1d;
using tantu::conv2d;
using tantu::conv_transpose1d;
using tantu::conv_transpose2d;
using tantu::max_pool1d;
using tantu::max_pool2d;

using tantu::dropout;
using tantu::dropout1d;
using tantu::dropout2d;
using tantu::dropout3d;

using tantu::batch_norm;
using tantu::group_norm;
using tantu::instance_norm;
using tantu::layer_norm;
using tantu::rms_norm;

using tantu::elu;
using tantu::gelu;
using tantu::hardswish;
using tantu::hardtanh;
using tantu::leaky_relu;
using tantu::log_softmax;
using tantu::logsigmoid;
using tantu::mish;
using tantu::relu;
using tantu::relu6;
using tantu::selu;
using tantu::sigmoid;
using tantu::silu;
using tantu::softmax;
using tantu::softplus;
using tantu::tanh;

using tantu::binary_cross_entropy;
using tantu::binary_cross_entropy_with_logits;
using tantu::cross_entropy;
using tantu::hinge_embedding_loss;
using tantu::huber_loss;
using tantu::kl_div;
using tantu::l1_loss;
using tantu::margin_ranking_loss;
using tantu::mse_loss;
using tantu::nll_loss;
using tantu::smooth_l1_loss;
using tantu::soft_margin_loss;
using tantu::triplet_margin_loss;

}  // namespace tantu::nn::functional
