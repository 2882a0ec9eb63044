#pragma once

#include <tantu/core/tensor.h>

#include <string_view>
#include <utility>

/// Initial values, written in place and outside of the tape; each returns the tensor it was given. Names, formulas and
/// the order of draws are PyTorch's: bounds are computed in double, then cast. `generator` absent: the device's default
/// one.
namespace tantu::nn::init {

/// Uniform in [from, to).
Tensor uniform_(Tensor t, double from = 0, double to = 1, std::optional<Generator> generator = {},
                Site at = Site::here());
/// Normal with this mean and standard deviation.
Tensor normal_(Tensor t, double mean = 0, double std = 1, std::optional<Generator> generator = {},
               Site at = Site::here());
/// Normal, cut to [a, b] by the inverse of its distribution function: one uniform draw an element.
Tensor trunc_normal_(Tensor t, double mean = 0, double std = 1, double a = -2, double b = 2,
                     std::optional<Generator> generator = {}, Site at = Site::here());
/// Every element `value`.
Tensor constant_(Tensor t, double value, Site at = Site::here());
Tensor ones_(Tensor t, Site at = Site::here());
Tensor zeros_(Tensor t, Site at = Site::here());
/// The identity in a matrix; ones on the diagonal of one that is not square.
Tensor eye_(Tensor t, Site at = Site::here());

/// (fan_in, fan_out) of a weight (out, in, kernel…): the number of inputs an output sums, of outputs an input reaches.
/// ValueError for fewer than two dimensions.
std::pair<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& t);
/// The factor that keeps the variance through "linear", "conv1d" … "conv_transpose3d", "sigmoid" (1), "tanh" (5/3),
/// "relu" (sqrt 2), "leaky_relu" (sqrt(2 / (1 + param^2)), param 0.01 when absent), "selu" (3/4). ValueError for any
/// other word.
double calculate_gain(std::string_view nonlinearity, std::optional<double> param = {});

/// Glorot and Bengio 2010: uniform of bound gain * sqrt(6 / (fan_in + fan_out)).
Tensor xavier_uniform_(Tensor t, double gain = 1, std::optional<Generator> generator = {}, Site at = Site::here());
/// Glorot and Bengio 2010: normal of std gain * sqrt(2 / (fan_in + fan_out)).
Tensor xavier_normal_(Tensor t, double gain = 1, std::optional<Generator> generator = {}, Site at = Site::here());
/// He et al. 2015: uniform of bound gain * sqrt(3 / fan); `mode` "fan_in" or "fan_out"; `a` is the slope of leaky_relu.
/// An empty tensor stays as it is.
Tensor kaiming_uniform_(Tensor t, double a = 0, std::string_view mode = "fan_in",
                        std::string_view nonlinearity = "leaky_relu", std::optional<Generator> generator = {},
                        Site at = Site::here());
/// He et al. 2015: normal of std gain / sqrt(fan).
Tensor kaiming_normal_(Tensor t, double a = 0, std::string_view mode = "fan_in",
                       std::string_view nonlinearity = "leaky_relu", std::optional<Generator> generator = {},
                       Site at = Site::here());
/// Saxe et al. 2013: rows (or columns, if there are fewer) of a random orthogonal matrix, times gain. Dimensions after
/// the first count as one. ValueError for fewer than two.
Tensor orthogonal_(Tensor t, double gain = 1, std::optional<Generator> generator = {}, Site at = Site::here());

}  // namespace tantu::nn::init
