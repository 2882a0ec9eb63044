#include <tantu/tests/ops/digest.h>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace tantu::optest {

namespace {

std::FILE* open_file() {
  const char* path = std::getenv("TANTU_TEST_DIGEST");
  if (!path) return nullptr;
  std::FILE* file = std::fopen(path, "w");
  TANTU_CHECK(file, ValueError, "TANTU_TEST_DIGEST=\"{}\": the file cannot be written", path);
  return file;
}

uint64_t bits_of(const Tensor& t) {  // FNV-1a
  const Tensor here = t.detach().cpu().contiguous();
  const auto* bytes = static_cast<const uint8_t*>(here.data_ptr());
  uint64_t hash = 0xcbf29ce484222325u;
  for (int64_t i = 0; i < here.numel() * here.element_size(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

}  // namespace

void digest(const Row& row, const Case& c, const Setting& at, const char* aspect, const TensorList& results) {
  static std::FILE* const file = open_file();
  if (!file) return;
  std::string line = fmt::format("{} {} (case {}, {}):", row.name, aspect, &c - row.cases.data(), describe(at));
  for (const Tensor& t : results) line += t.defined() ? fmt::format(" {:016x}", bits_of(t)) : " none";
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file);
}

}  // namespace tantu::optest
