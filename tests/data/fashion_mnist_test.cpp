#include <tantu/autograd/ops.h>
#include <tantu/data/data.h>
#include <tantu/tests/catch.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace tantu;

namespace {

std::string be32(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

struct Folder {
  std::string path = std::filesystem::temp_directory_path() / fmt::format("tantu-mnist-{}", getpid());
  Folder() { std::filesystem::create_directories(path + "/fashion-mnist"); }
  ~Folder() { std::filesystem::remove_all(path); }
};

void check_set(bool train, int64_t count) {
  const data::FashionMNIST set(train);
  CHECK(set.images().sizes() == Shape{count, 1, 28, 28});
  CHECK(set.images().dtype() == kFloat32);
  CHECK(set.labels().dtype() == kInt64);
  std::vector<int64_t> classes(10);
  for (const int64_t label : set.labels().to_vector<int64_t>()) ++classes.at(static_cast<size_t>(label));
  CHECK(classes == std::vector<int64_t>(10, count / 10));
  const std::vector<float> pixels = set.images().to_vector<float>();
  const auto [low, high] = std::minmax_element(pixels.begin(), pixels.end());
  CHECK(*low == 0.0f);
  CHECK(*high == 1.0f);
}

}  // namespace

TEST_CASE("Fashion-MNIST: the whole set") {
  if (!std::getenv("TANTU_DATA_DIR") && !std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    skip_test("the data set is not installed (apt install dataset-fashion-mnist)");
    return;
  }
  check_set(true, 60000);
  check_set(false, 10000);
}

TEST_CASE("Fashion-MNIST: where it is looked for, and what is said when it is nowhere") {
  const Folder folder;
  const char* before = std::getenv("TANTU_DATA_DIR");
  const std::string kept = before ? before : "";
  const std::string images = be32(0x803) + be32(2) + be32(1) + be32(2) + std::string("\x00\xff\x33\x66", 4);
  const std::string labels = be32(0x801) + be32(2) + std::string("\x05\x09", 2);
  write(folder.path + "/fashion-mnist/t10k-images-idx3-ubyte", images);
  write(folder.path + "/fashion-mnist/t10k-labels-idx1-ubyte", labels);
  setenv("TANTU_DATA_DIR", ("/nowhere::" + folder.path).c_str(), 1);
  const data::FashionMNIST set(false);
  CHECK(set.images().sizes() == Shape{2, 1, 1, 2});
  CHECK(set.images().to_vector<float>() == std::vector<float>{0.0f, 1.0f, 51.0f / 255.0f, 102.0f / 255.0f});
  CHECK(set.labels().to_vector<int64_t>() == std::vector<int64_t>{5, 9});

  write(folder.path + "/fashion-mnist/t10k-labels-idx1-ubyte", be32(0x801) + be32(1) + "\x05");
  CHECK_THROWS_WITH(data::FashionMNIST(false), contains("holds 2 images, but") && contains("holds 1 labels"));
  write(folder.path + "/fashion-mnist/t10k-labels-idx1-ubyte", images);
  CHECK_THROWS_AS(data::FashionMNIST(false), FormatError);

  CHECK_THROWS_WITH(data::FashionMNIST(true, folder.path),
                    contains("FashionMNIST: train-") && contains(folder.path) && contains("dataset-fashion-mnist"));
  if (before) setenv("TANTU_DATA_DIR", kept.c_str(), 1);
  else unsetenv("TANTU_DATA_DIR");
}

TEST_CASE("Fashion-MNIST: ten names") {
  CHECK(data::FashionMNIST::classes().size() == 10);
}
