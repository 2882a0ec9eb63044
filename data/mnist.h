#pragma once

#include <tantu/data/dataset.h>

#include <string>
#include <vector>

namespace tantu::data {

/// Images (N, 1, H, W), float32 in [0, 1], and labels (N), int64, from two IDX files, plain or gzipped. FormatError as
/// `read_idx`, or if these are not uint8 images and as many uint8 labels.
class MNIST : public TensorDataset {
 public:
  MNIST(const std::string& images_path, const std::string& labels_path, Site at = Site::here());

  const Tensor& images() const { return tensors()[0]; }
  const Tensor& labels() const { return tensors()[1]; }
};

/// Fashion-MNIST (Xiao, Rasul and Vollgraf 2017): 60,000 training and 10,000 test images of 28 x 28, ten classes. The
/// files {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz] are looked for in `root`; without one in every folder of
/// TANTU_DATA_DIR (a path list), there also in the folder fashion-mnist, and then where Debian's package
/// dataset-fashion-mnist puts them. Error that lists these places if they are nowhere.
class FashionMNIST : public MNIST {
 public:
  explicit FashionMNIST(bool train = true, const std::string& root = {}, Site at = Site::here());

  /// The names of labels 0 … 9.
  static const std::vector<std::string>& classes();
};

}  // namespace tantu::data
