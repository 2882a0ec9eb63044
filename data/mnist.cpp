#include <tantu/data/mnist.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/data/idx.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace tantu::data {

namespace {

constexpr const char* kPackage = "/usr/share/datasets/fashion-mnist";

std::vector<Tensor> load(const std::string& images_path, const std::string& labels_path, Site at) {
  tape::Op op("MNIST", at);
  const Tensor images = read_idx(images_path), labels = read_idx(labels_path);
  TANTU_CHECK(images.dtype() == kUInt8 && images.dim() == 3, FormatError,
              "MNIST: {} holds {} {}, not uint8 images (N, H, W)", images_path, images.dtype(), images.sizes());
  TANTU_CHECK(labels.dtype() == kUInt8 && labels.dim() == 1, FormatError, "MNIST: {} holds {} {}, not uint8 labels (N)",
              labels_path, labels.dtype(), labels.sizes());
  TANTU_CHECK(images.size(0) == labels.size(0), FormatError, "MNIST: {} holds {} images, but {} holds {} labels",
              images_path, images.size(0), labels_path, labels.size(0));
  return {images.to(kFloat32).div_(255).unsqueeze(1), labels.to(kInt64)};
}

std::vector<std::string> places(const std::string& root) {
  if (!root.empty()) return {root};
  std::vector<std::string> all;
  const char* set = std::getenv("TANTU_DATA_DIR");
  for (std::string_view list = set ? set : ""; !list.empty();) {
    const size_t colon = std::min(list.find(':'), list.size());
    const std::string folder(list.substr(0, colon));
    list.remove_prefix(std::min(colon + 1, list.size()));
    if (folder.empty()) continue;
    all.push_back(folder);
    all.push_back(folder + "/fashion-mnist");
  }
  all.push_back(kPackage);
  return all;
}

std::string find(const std::string& file, const std::string& root) {
  const std::vector<std::string> folders = places(root);
  for (const std::string& folder : folders)
    for (const char* suffix : {".gz", ""}) {
      std::error_code ignored;
      const std::string path = folder + "/" + file + suffix;
      if (std::filesystem::exists(path, ignored)) return path;
    }
  std::string listed;
  for (const std::string& folder : folders) listed += (listed.empty() ? "" : ", ") + folder;
  throw Error(fmt::format(
      "FashionMNIST: {}[.gz] is in none of: {}. On Debian the package dataset-fashion-mnist brings it (apt install "
      "dataset-fashion-mnist); elsewhere put the four files into a folder and name that in TANTU_DATA_DIR",
      file, listed));
}

std::string path_of(bool train, const char* what, const std::string& root) {
  return find(fmt::format("{}-{}-ubyte", train ? "train" : "t10k", what), root);
}

}  // namespace

MNIST::MNIST(const std::string& images_path, const std::string& labels_path, Site at)
    : TensorDataset(load(images_path, labels_path, at)) {}

FashionMNIST::FashionMNIST(bool train, const std::string& root, Site at)
    : MNIST(path_of(train, "images-idx3", root), path_of(train, "labels-idx1", root), at) {}

const std::vector<std::string>& FashionMNIST::classes() {
  static const std::vector<std::string> names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                 "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  return names;
}

}  // namespace tantu::data
