#include <tantu/data/dataset.h>

#include <tantu/autograd/ops.h>

#include <algorithm>
#include <numeric>

namespace tantu::data {

namespace {

int64_t check_index(const char* what, int64_t index, int64_t size) {
  TANTU_CHECK(index >= 0 && index < size, IndexError, "{}: index {} is out of range for {} samples", what, index, size);
  return index;
}

}  // namespace

const Tensor& Batch::operator[](size_t i) const {
  TANTU_CHECK(i < tensors_.size(), IndexError, "Batch: index {} is out of range for {} tensors", i, tensors_.size());
  return tensors_[i];
}

const Tensor& Batch::pair_element(size_t i) const {
  TANTU_CHECK(tensors_.size() == 2, ShapeError,
              "Batch: `auto [a, b]` needs 2 tensors, but this batch has {}; use batch[i]", tensors_.size());
  return tensors_[i];
}

Dataset::~Dataset() = default;

std::optional<Batch> Dataset::get_batch(const std::vector<int64_t>&) const {
  return {};
}

void AnyDataset::check() const {
  TANTU_CHECK(dataset_, ValueError, "AnyDataset: the pointer is null");
}

TensorDataset::TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  TANTU_CHECK(!tensors_.empty(), ValueError, "TensorDataset: expects at least one tensor");
  for (const Tensor& t : tensors_) {
    TANTU_CHECK(t.dim() >= 1, ShapeError, "TensorDataset: a 0-dim tensor has no samples along its first dimension");
    TANTU_CHECK(t.size(0) == tensors_[0].sizes()[0], ShapeError,
                "TensorDataset: Size mismatch between tensors: the first has shape {}, another {}", tensors_[0].sizes(),
                t.sizes());
  }
}

int64_t TensorDataset::size() const {
  return tensors_[0].size(0);
}

Sample TensorDataset::get(int64_t index) const {
  check_index("TensorDataset", index, size());
  Sample sample;
  for (const Tensor& t : tensors_) sample.push_back(t.select(0, index));
  return sample;
}

std::optional<Batch> TensorDataset::get_batch(const std::vector<int64_t>& indices) const {
  for (int64_t index : indices) check_index("TensorDataset", index, size());
  const Tensor rows = tensor(indices);
  std::vector<Tensor> batch;
  for (const Tensor& t : tensors_) batch.push_back(t.index_select(0, rows.to(t.device())));
  return Batch(std::move(batch));
}

Subset::Subset(AnyDataset dataset, std::vector<int64_t> indices)
    : dataset_(std::move(dataset)), indices_(std::move(indices)) {
  for (int64_t index : indices_) check_index("Subset", index, dataset_->size());
}

Sample Subset::get(int64_t index) const {
  return dataset_->get(indices_[static_cast<size_t>(check_index("Subset", index, size()))]);
}

std::optional<Batch> Subset::get_batch(const std::vector<int64_t>& indices) const {
  std::vector<int64_t> outer;
  for (int64_t index : indices) outer.push_back(indices_[static_cast<size_t>(check_index("Subset", index, size()))]);
  return dataset_->get_batch(outer);
}

ConcatDataset::ConcatDataset(std::vector<AnyDataset> datasets) : datasets_(std::move(datasets)) {
  TANTU_CHECK(!datasets_.empty(), ValueError, "ConcatDataset: expects at least one dataset");
  int64_t end = 0;
  for (const AnyDataset& d : datasets_) ends_.push_back(end += d->size());
}

Sample ConcatDataset::get(int64_t index) const {
  check_index("ConcatDataset", index, size());
  const auto which = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
  return datasets_[static_cast<size_t>(which)]->get(which == 0 ? index : index - ends_[static_cast<size_t>(which) - 1]);
}

std::vector<Subset> random_split(const AnyDataset& dataset, const std::vector<int64_t>& lengths,
                                 std::optional<Generator> generator) {
  int64_t total = 0;
  for (int64_t length : lengths) {
    TANTU_CHECK(length >= 0 && length <= dataset->size(), ValueError,
                "random_split: length {} of a dataset of {} samples", length, dataset->size());
    total += length;
  }
  TANTU_CHECK(total == dataset->size(), ValueError,
              "random_split: Sum of input lengths does not equal the length of the input dataset! ({} and {})", total,
              dataset->size());
  const std::vector<int64_t> order = randperm(total, {}, std::move(generator)).to_vector<int64_t>();
  std::vector<Subset> parts;
  auto next = order.begin();
  for (int64_t length : lengths) {
    parts.emplace_back(dataset, std::vector<int64_t>(next, next + length));
    next += length;
  }
  return parts;
}

}  // namespace tantu::data
