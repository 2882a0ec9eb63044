#include <tantu/data/idx.h>

#include <tantu/autograd/tape.h>

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

namespace tantu::data {

namespace {

constexpr size_t kBuffer = 1 << 16;
constexpr int64_t kMostInflation = 1032;  // deflate packs no more than this many bytes into one

/// The bytes of the IDX content, in order.
class Source {
 public:
  explicit Source(const std::string& name) : name_(name) {}
  virtual ~Source() = default;
  /// Reads up to `count` bytes; fewer only at the end.
  virtual size_t read(uint8_t* to, size_t count) = 0;
  /// A bound on how many bytes are still to come.
  virtual int64_t most_left() const = 0;

  void read_exactly(uint8_t* to, size_t count, const char* what) {
    const size_t got = read(to, count);
    position_ += static_cast<int64_t>(got);
    if (got != count) fail("ends inside {} ({} more bytes expected)", what, count - got);
  }
  template <class... Args>
  [[noreturn]] void fail(const char* text, const Args&... args) const {
    throw FormatError(fmt::format("read_idx: {}, at byte {} of the data: {}", name_, position_,
                                  fmt::format(fmt::runtime(text), args...)));
  }

 protected:
  const std::string& name_;
  int64_t position_ = 0;
};

class PlainSource : public Source {
 public:
  PlainSource(std::istream& in, const std::string& name, int64_t size) : Source(name), in_(in), size_(size) {}
  size_t read(uint8_t* to, size_t count) override {
    in_.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count));
    return static_cast<size_t>(in_.gcount());
  }
  int64_t most_left() const override { return size_ - position_; }

 private:
  std::istream& in_;
  int64_t size_;
};

class GzipSource : public Source {
 public:
  GzipSource(std::istream& in, const std::string& name, int64_t size)
      : Source(name), in_(in), packed_size_(size), buffer_(kBuffer) {
    if (inflateInit2(&z_, 15 + 16) != Z_OK) throw OutOfMemoryError("read_idx: zlib could not be started");
  }
  ~GzipSource() override { inflateEnd(&z_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  size_t read(uint8_t* to, size_t count) override {
    size_t done = 0;
    while (done < count && !ended_) {
      const uInt room = static_cast<uInt>(std::min(count - done, size_t{1} << 30));
      z_.next_out = to + done;
      z_.avail_out = room;
      inflate_some();
      done += room - z_.avail_out;
    }
    if (ended_) check_nothing_follows();
    return done;
  }
  int64_t most_left() const override { return (packed_size_ + 1) * kMostInflation - position_; }

 private:
  void inflate_some() {
    if (z_.avail_in == 0) {
      in_.read(reinterpret_cast<char*>(buffer_.data()), kBuffer);
      z_.next_in = buffer_.data();
      z_.avail_in = static_cast<uInt>(in_.gcount());
      packed_position_ += in_.gcount();
    }
    const bool starved = z_.avail_in == 0;
    const int status = inflate(&z_, Z_NO_FLUSH);
    ended_ = status == Z_STREAM_END;
    if (status == Z_OK || ended_) return;
    if (status == Z_MEM_ERROR) throw OutOfMemoryError("read_idx: zlib is out of memory");
    if (status == Z_BUF_ERROR && starved) fail("the gzip stream is cut off (at byte {} of the file)", packed_position_);
    fail("the gzip stream is damaged near byte {} of the file: {}", packed_position_ - z_.avail_in,
         z_.msg ? z_.msg : "bad data");
  }

  void check_nothing_follows() {
    const int64_t rest = z_.avail_in + packed_size_ - packed_position_;
    if (rest != 0) fail("{} bytes follow the gzip stream", rest);
  }

  std::istream& in_;
  int64_t packed_size_, packed_position_ = 0;
  std::vector<uint8_t> buffer_;
  z_stream z_{};
  bool ended_ = false;
};

struct Header {
  int type = 0;
  DType dtype = kUInt8;
  int64_t width = 1;  // bytes of an element in the file
  Shape sizes;
  int64_t numel = 1;
};

uint32_t big_endian(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

Header read_header(Source& source) {
  uint8_t magic[4];
  source.read_exactly(magic, 4, "the magic number");
  if (magic[0] != 0 || magic[1] != 0)
    source.fail("not an IDX file: it begins {:02x} {:02x}, not 00 00", magic[0], magic[1]);
  Header h;
  h.type = magic[2];
  switch (magic[2]) {
    case 0x08: break;
    case 0x09: h.dtype = kInt32; break;
    case 0x0B: h.dtype = kInt32, h.width = 2; break;
    case 0x0C: h.dtype = kInt32, h.width = 4; break;
    case 0x0D: h.dtype = kFloat32, h.width = 4; break;
    case 0x0E: h.dtype = kFloat64, h.width = 8; break;
    default: source.fail("unknown element type {:02x} (there are 08, 09, 0B, 0C, 0D and 0E)", magic[2]);
  }
  const int rank = magic[3];
  if (rank < 1 || rank > kMaxDims) source.fail("rank {} is not in [1, {}]", rank, kMaxDims);
  int64_t bytes = h.width;
  bool empty = false;
  for (int d = 0; d < rank; ++d) {
    uint8_t size[4];
    source.read_exactly(size, 4, "the sizes");
    h.sizes.push_back(big_endian(size));
    if (h.sizes[d] == 0) empty = true;
    else if (__builtin_mul_overflow(bytes, h.sizes[d], &bytes)) source.fail("sizes {} overflow", h.sizes);
  }
  if (empty) bytes = 0;
  if (bytes > source.most_left()) source.fail("sizes {} need {} bytes, more than this file can hold", h.sizes, bytes);
  h.numel = bytes / h.width;
  return h;
}

template <class Wide, class Bits>
Wide decode(const uint8_t* bytes) {
  Bits bits = 0;
  for (size_t i = 0; i < sizeof(Bits); ++i) bits = static_cast<Bits>(bits << 8 | bytes[i]);
  if constexpr (std::is_floating_point_v<Wide>) return std::bit_cast<Wide>(bits);
  else return static_cast<Wide>(static_cast<std::make_signed_t<Bits>>(bits));
}

template <class Wide, class Bits>
void read_elements(Source& source, Wide* to, int64_t count) {
  std::vector<uint8_t> raw(kBuffer);
  constexpr int64_t kAtOnce = kBuffer / sizeof(Bits);
  for (int64_t i = 0; i < count; i += kAtOnce) {
    const int64_t n = std::min(kAtOnce, count - i);
    source.read_exactly(raw.data(), static_cast<size_t>(n) * sizeof(Bits), "the elements");
    for (int64_t k = 0; k < n; ++k) to[i + k] = decode<Wide, Bits>(raw.data() + k * static_cast<int64_t>(sizeof(Bits)));
  }
}

Tensor read_content(Source& source) {
  const Header h = read_header(source);
  Tensor y = make_tensor("read_idx", h.sizes, h.dtype, kCPU);
  switch (h.type) {
    case 0x08: source.read_exactly(y.data_ptr<uint8_t>(), static_cast<size_t>(h.numel), "the elements"); break;
    case 0x09: read_elements<int32_t, uint8_t>(source, y.data_ptr<int32_t>(), h.numel); break;
    case 0x0B: read_elements<int32_t, uint16_t>(source, y.data_ptr<int32_t>(), h.numel); break;
    case 0x0C: read_elements<int32_t, uint32_t>(source, y.data_ptr<int32_t>(), h.numel); break;
    case 0x0D: read_elements<float, uint32_t>(source, y.data_ptr<float>(), h.numel); break;
    default: read_elements<double, uint64_t>(source, y.data_ptr<double>(), h.numel);
  }
  uint8_t extra;
  if (source.read(&extra, 1) != 0) source.fail("data goes on after the {} elements of sizes {}", h.numel, h.sizes);
  return y;
}

}  // namespace

Tensor read_idx(std::istream& in, const std::string& name, Site at) {
  tape::Op op("read_idx", at);
  const auto start = in.tellg();
  in.seekg(0, std::ios::end);
  const auto end = in.tellg();
  in.seekg(start);
  TANTU_CHECK(in && start >= 0 && end >= start, FormatError, "read_idx: {} cannot be read", name);
  const int first = in.get(), second = in.get();
  in.clear();
  in.seekg(start);
  std::unique_ptr<Source> source;
  if (first == 0x1f && second == 0x8b) source = std::make_unique<GzipSource>(in, name, end - start);
  else source = std::make_unique<PlainSource>(in, name, end - start);
  return read_content(*source);
}

Tensor read_idx(const std::string& path, Site at) {
  tape::Op op("read_idx", at);
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  TANTU_CHECK(!error, FormatError, "read_idx: {}: {}", path, error.message());
  TANTU_CHECK(regular, FormatError, "read_idx: {} is not a regular file", path);
  std::ifstream in(path, std::ios::binary);
  TANTU_CHECK(in, FormatError, "read_idx: {}: {}", path, std::strerror(errno));
  return read_idx(in, path);
}

}  // namespace tantu::data
