#pragma once

#include <tantu/core/tensor.h>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tantu::data {

/// The tensors of one sample, as a dataset gives them: usually (features, label).
using Sample = std::vector<Tensor>;

/// The tensors of several samples, each with a first dimension for the samples. One of two tensors takes apart:
/// `auto [features, labels] = batch`; any other is read by `batch[i]`.
class Batch {
 public:
  Batch() = default;
  Batch(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}

  size_t size() const { return tensors_.size(); }
  /// IndexError outside of [0, size()).
  const Tensor& operator[](size_t i) const;
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// For structured bindings; ShapeError unless there are two tensors.
  template <size_t I>
  Tensor get() const {
    return pair_element(I);
  }

 private:
  const Tensor& pair_element(size_t i) const;

  std::vector<Tensor> tensors_;
};

/// Numbered samples. Derive from it for data of your own; with loader workers `get` is called from several threads at
/// once.
class Dataset {
 public:
  virtual ~Dataset();
  virtual int64_t size() const = 0;
  /// Sample `index`, 0 <= index < size().
  virtual Sample get(int64_t index) const = 0;
  /// Many samples at once, already stacked, or nothing: then they are got one by one and collated.
  virtual std::optional<Batch> get_batch(const std::vector<int64_t>& indices) const;
};

/// A shared dataset of any kind: made from one by value, or from a shared pointer.
class AnyDataset {
 public:
  template <std::derived_from<Dataset> D>
  AnyDataset(D dataset) : dataset_(std::make_shared<const D>(std::move(dataset))) {}
  template <std::derived_from<Dataset> D>
  AnyDataset(std::shared_ptr<D> dataset) : dataset_(std::move(dataset)) {
    check();
  }
  const Dataset* operator->() const { return dataset_.get(); }
  const Dataset& operator*() const { return *dataset_; }

 private:
  void check() const;

  std::shared_ptr<const Dataset> dataset_;
};

/// Sample i is row i of each tensor. ShapeError unless all have as many rows.
class TensorDataset : public Dataset {
 public:
  TensorDataset(std::vector<Tensor> tensors);
  template <std::convertible_to<Tensor>... Tensors>
  explicit TensorDataset(Tensor first, Tensors... rest)
      : TensorDataset(std::vector<Tensor>{std::move(first), std::move(rest)...}) {}

  const std::vector<Tensor>& tensors() const { return tensors_; }
  int64_t size() const override;
  Sample get(int64_t index) const override;
  std::optional<Batch> get_batch(const std::vector<int64_t>& indices) const override;

 private:
  std::vector<Tensor> tensors_;
};

/// Some samples of another dataset, in the order of `indices`. IndexError for an index outside of it.
class Subset : public Dataset {
 public:
  Subset(AnyDataset dataset, std::vector<int64_t> indices);

  const std::vector<int64_t>& indices() const { return indices_; }
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Sample get(int64_t index) const override;
  std::optional<Batch> get_batch(const std::vector<int64_t>& indices) const override;

 private:
  AnyDataset dataset_;
  std::vector<int64_t> indices_;
};

/// Several datasets, one after another. ValueError for none.
class ConcatDataset : public Dataset {
 public:
  ConcatDataset(std::vector<AnyDataset> datasets);

  int64_t size() const override { return ends_.back(); }
  Sample get(int64_t index) const override;

 private:
  std::vector<AnyDataset> datasets_;
  std::vector<int64_t> ends_;
};

/// Cuts a dataset into parts of these lengths, at random: one `randperm`, taken in order. ValueError unless the lengths
/// add up to its size.
std::vector<Subset> random_split(const AnyDataset& dataset, const std::vector<int64_t>& lengths,
                                 std::optional<Generator> generator = {});

}  // namespace tantu::data

template <>
struct std::tuple_size<tantu::data::Batch> : std::integral_constant<size_t, 2> {};
template <size_t I>
struct std::tuple_element<I, tantu::data::Batch> {
  using type = tantu::Tensor;
};
