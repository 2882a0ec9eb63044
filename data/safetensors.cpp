#include <tantu/data/safetensors.h>

#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>
#include <tantu/data/safetensors_header.h>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

namespace tantu::data {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

namespace {

using detail::HeaderEntry;
using detail::kHeaderLimit;

class File {  // a descriptor that is closed in the end
 public:
  // Without O_NONBLOCK a named pipe would wait for a writer before it can be refused.
  File(const std::string& path, int flags)
      : descriptor_(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644)), path_(path) {
    TANTU_CHECK(descriptor_ >= 0, Error, "safetensors: cannot open {}: {}", path, std::strerror(errno));
  }
  void check_regular() const {
    struct stat status = {};
    TANTU_CHECK(fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode), Error,
                "safetensors: {} is not a regular file", path_);
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  uint64_t size() const {
    const off_t end = lseek(descriptor_, 0, SEEK_END);
    TANTU_CHECK(end >= 0, Error, "safetensors: cannot measure {}: {}", path_, std::strerror(errno));
    return static_cast<uint64_t>(end);
  }

  void read(void* to, uint64_t bytes, uint64_t offset) const {
    char* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t n = pread(descriptor_, at, std::min<uint64_t>(bytes, 1u << 30), static_cast<off_t>(offset));
      TANTU_CHECK(n > 0, FormatError, "safetensors: {}: the file ends at byte {}, {} bytes too early", path_, offset,
                  bytes);
      at += n;
      bytes -= static_cast<uint64_t>(n);
      offset += static_cast<uint64_t>(n);
    }
  }

  void write(const void* from, uint64_t bytes) {
    const char* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t n = ::write(descriptor_, at, std::min<uint64_t>(bytes, 1u << 30));
      TANTU_CHECK(n > 0, Error, "safetensors: cannot write {}: {}", path_, std::strerror(errno));
      at += n;
      bytes -= static_cast<uint64_t>(n);
    }
  }

  void sync() {
    TANTU_CHECK(fsync(descriptor_) == 0, Error, "safetensors: cannot sync {}: {}", path_, std::strerror(errno));
  }

 private:
  int descriptor_;
  std::string path_;
};

class TemporaryFile {  // removed unless it was moved to its place
 public:
  explicit TemporaryFile(const std::string& path) : path_(fmt::format("{}.{}.part", path, getpid())) {}
  ~TemporaryFile() {
    if (!placed_) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

  void place(const std::string& path) {
    TANTU_CHECK(rename(path_.c_str(), path.c_str()) == 0, Error, "safetensors: cannot rename {} to {}: {}", path_, path,
                std::strerror(errno));
    placed_ = true;
    const size_t slash = path.rfind('/');
    File(slash == std::string::npos ? "." : path.substr(0, slash + 1), O_RDONLY | O_DIRECTORY).sync();
  }

 private:
  std::string path_;
  bool placed_ = false;
};

}  // namespace

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata, Site at) {
  tape::Op op("save_safetensors", at);
  std::vector<std::pair<std::string, Tensor>> order;
  for (const auto& [name, t] : tensors) {
    TANTU_CHECK(t.defined(), ValueError, "save_safetensors: \"{}\" is an undefined tensor", name);
    order.emplace_back(name, t.detach().cpu().contiguous());
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return detail::dtype_rank(a.second.dtype()) > detail::dtype_rank(b.second.dtype());
  });
  const std::string header = detail::write_header(order, metadata);
  TANTU_CHECK(header.size() <= kHeaderLimit, FormatError,
              "save_safetensors: {}: a header of {} bytes is over the limit of {}", path, header.size(), kHeaderLimit);
  struct stat status = {};
  TANTU_CHECK(stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode), Error,
              "save_safetensors: {} exists and is not a regular file", path);
  TANTU_CHECK(!path.empty(), ValueError, "save_safetensors: the path is empty");
  TemporaryFile temporary(path);
  {
    File file(temporary.path(), O_WRONLY | O_CREAT | O_TRUNC);
    const uint64_t length = header.size();
    file.write(&length, 8);
    file.write(header.data(), header.size());
    for (const auto& [name, t] : order) file.write(t.data_ptr(), static_cast<uint64_t>(t.nbytes()));
    file.sync();
  }
  temporary.place(path);
}

Safetensors load_safetensors(const std::string& path, Site at) {
  tape::Op op("load_safetensors", at);
  const File file(path, O_RDONLY);
  file.check_regular();
  const uint64_t size = file.size();
  TANTU_CHECK(size >= 8, FormatError, "safetensors: {}: {} bytes are too few for a header length", path, size);
  uint64_t length = 0;
  file.read(&length, 8, 0);
  TANTU_CHECK(length <= kHeaderLimit, FormatError, "safetensors: {}: a header of {} bytes is over the limit of {}",
              path, length, kHeaderLimit);
  TANTU_CHECK(length <= size - 8, FormatError, "safetensors: {}: a header of {} bytes does not fit a file of {}", path,
              length, size);
  std::string text(length, '\0');
  file.read(text.data(), length, 8);

  Safetensors result;
  const std::vector<HeaderEntry> entries = detail::read_header(path, text, size - 8 - length, result.metadata);
  for (const HeaderEntry& e : entries)
    TANTU_CHECK(e.dtype, DTypeError, "safetensors: {}: \"{}\" is {}, a dtype that tantu does not have", path, e.name,
                e.dtype_name);
  for (const HeaderEntry& e : entries) {
    Tensor t = make_tensor("load_safetensors", e.shape, *e.dtype, kCPU);
    file.read(t.data_ptr(), e.end - e.begin, 8 + length + e.begin);
    if (*e.dtype == kBool) {
      uint8_t* bytes = static_cast<uint8_t*>(t.data_ptr());
      for (int64_t i = 0; i < t.numel(); ++i) bytes[i] = bytes[i] != 0;
    }
    result.tensors.emplace(e.name, t);
  }
  return result;
}

}  // namespace tantu::data
