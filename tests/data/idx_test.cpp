#include <tantu/autograd/ops.h>
#include <tantu/data/idx.h>
#include <tantu/tests/catch.h>

#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

// IDX files are hostile until proved otherwise.

using namespace tantu;

namespace {

using Bytes = std::string;

Bytes be32(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}

Bytes header(int type, const std::vector<uint32_t>& sizes) {
  Bytes h{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (uint32_t s : sizes) h += be32(s);
  return h;
}

Bytes gzipped(const Bytes& plain) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes out(plain.size() + 1000, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

Tensor read(const Bytes& bytes) {
  std::istringstream in(bytes);
  return data::read_idx(in, "small.idx");
}

// The error's text; empty if there is none.
std::string refusal(const Bytes& bytes) {
  try {
    read(bytes);
  } catch (const FormatError& e) {
    return e.what();
  }
  return "";
}

const Bytes kSmall = header(0x08, {2, 3}) + Bytes("\x01\x02\x03\x80\xfe\xff", 6);

}  // namespace

TEST_CASE("idx: every type, plain and gzipped") {
  const auto values = [](const Bytes& b) { return read(b).to_vector<double>(); };
  struct Case {
    Bytes bytes;
    DType dtype;
    std::vector<double> values;
  };
  const std::vector<Case> cases = {
      {kSmall, kUInt8, {1, 2, 3, 128, 254, 255}},
      {header(0x09, {3}) + Bytes("\x7f\x80\xff", 3), kInt32, {127, -128, -1}},
      {header(0x0B, {3}) + Bytes("\x7f\xff\x80\x00\xff\xfe", 6), kInt32, {32767, -32768, -2}},
      {header(0x0C, {2}) + be32(0x7fffffff) + be32(0x80000000), kInt32, {2147483647.0, -2147483648.0}},
      {header(0x0D, {2}) + be32(0x3fc00000) + be32(0xff800000), kFloat32, {1.5, -INFINITY}},
      {header(0x0E, {1}) + be32(0xc0091eb8) + be32(0x51eb851f), kFloat64, {-3.14}},
      {header(0x08, {0, 5}), kUInt8, {}},
  };
  for (const Case& c : cases) {
    for (const Bytes& bytes : {c.bytes, gzipped(c.bytes)}) {
      CHECK(read(bytes).dtype() == c.dtype);
      CHECK(values(bytes) == c.values);
    }
  }
  CHECK(read(kSmall).sizes() == Shape{2, 3});
}

TEST_CASE("idx: the published headers") {
  CHECK(header(0x08, {10000, 28, 28}) == be32(0x00000803) + be32(0x00002710) + be32(0x1c) + be32(0x1c));
  CHECK(header(0x08, {60000}) == be32(0x00000801) + be32(0x0000ea60));
}

TEST_CASE("idx: cut off at every byte, or followed by one") {
  const Bytes packed = gzipped(kSmall);
  for (size_t n = 0; n < kSmall.size(); ++n) {
    CAPTURE(n);
    CHECK(!refusal(kSmall.substr(0, n)).empty());
    CHECK(!refusal(gzipped(kSmall.substr(0, n))).empty());
  }
  for (size_t n = 0; n < packed.size(); ++n) {
    CAPTURE(n);
    CHECK(!refusal(packed.substr(0, n)).empty());
  }
  CHECK(refusal(kSmall + "x") ==
        "read_idx: small.idx, at byte 18 of the data: data goes on after the 6 elements of sizes [2, 3]");
  CHECK(refusal(gzipped(kSmall + "x")).find("data goes on") != std::string::npos);
  CHECK(refusal(packed + "x").find("1 bytes follow the gzip stream") != std::string::npos);
  CHECK(refusal(packed + packed).find("follow the gzip stream") != std::string::npos);
  CHECK(refusal(kSmall.substr(0, 9)).find("small.idx, at byte 9 of the data: ends inside the sizes") !=
        std::string::npos);
}

TEST_CASE("idx: wrong magic, types and ranks") {
  for (int type = 0; type < 256; ++type) {
    const bool known = type == 0x08 || type == 0x09 || (type >= 0x0B && type <= 0x0E);
    Bytes b = header(type, {0});
    CHECK(refusal(b).empty() == known);
  }
  for (const size_t at : {0u, 1u}) {
    Bytes b = kSmall;
    b[at] = 1;
    CHECK(refusal(b).find("not an IDX file") != std::string::npos);
  }
  CHECK(refusal(Bytes("\0\0\x08\0\x05", 5)).find("rank 0") != std::string::npos);
  CHECK(refusal(header(0x08, std::vector<uint32_t>(12, 1)) + "x").empty());
  CHECK(refusal(header(0x08, std::vector<uint32_t>(13, 1)) + "x").find("rank 13") != std::string::npos);
  CHECK(refusal(header(0x08, std::vector<uint32_t>(255, 1)) + "x").find("rank 255") != std::string::npos);
}

TEST_CASE("idx: sizes that lie are refused before memory is taken") {
  const uint32_t most = 0xffffffff;
  CHECK(refusal(header(0x08, {most, most, most})).find("overflow") != std::string::npos);
  CHECK(refusal(header(0x08, {most, most, most, 0}) + "x").find("overflow") != std::string::npos);
  CHECK(refusal(header(0x0E, {1u << 31, 1u << 31})).find("overflow") != std::string::npos);
  CHECK(refusal(header(0x08, {most, 1u << 31})).find("more than this file can hold") != std::string::npos);
  CHECK(refusal(header(0x08, {1u << 31, 1000})).find("more than this file can hold") != std::string::npos);
  CHECK(refusal(header(0x08, {7}) + "123456").find("more than this file can hold") != std::string::npos);
  CHECK(refusal(gzipped(header(0x08, {1u << 31, 1000}) + "123456")).find("more than this file can hold") !=
        std::string::npos);
  CHECK(refusal(gzipped(header(0x08, {7}) + "123456")).find("ends inside the elements (1 more bytes expected)") !=
        std::string::npos);
}

TEST_CASE("idx: a bomb is unpacked one byte too far and no further") {
  Bytes bomb = header(0x08, {4}) + Bytes(64 << 20, '\0');
  const Bytes packed = gzipped(bomb);
  REQUIRE(packed.size() < 100000);
  CHECK(refusal(packed).find("data goes on after the 4 elements") != std::string::npos);
}

TEST_CASE("idx: every flipped bit of a gzip file's check, and damage anywhere, is found") {
  const Bytes packed = gzipped(header(0x0C, {4}) + be32(1) + be32(2) + be32(300) + be32(4));
  int passed = 0;
  for (size_t at = 0; at < packed.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes b = packed;
      b[at] = static_cast<char>(b[at] ^ (1 << bit));
      if (!refusal(b).empty()) continue;
      ++passed;
      CHECK(at < packed.size() - 8);
      CHECK(read(b).to_vector<double>() == std::vector<double>{1, 2, 300, 4});
    }
  }
  CHECK(passed <= 8 * 7);  // time, operating system and flags of the gzip header mean nothing
}

TEST_CASE("idx: files") {
  const std::string folder = std::filesystem::temp_directory_path() / fmt::format("tantu-idx-{}", getpid());
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/a.idx.gz";
  std::ofstream(path, std::ios::binary) << gzipped(kSmall);
  CHECK(data::read_idx(path).to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3, 128, 254, 255});
  std::ofstream(path, std::ios::binary) << kSmall.substr(0, 15);
  CHECK_THROWS_WITH(data::read_idx(path), contains(path) && contains("at byte 12"));
  CHECK_THROWS_AS(data::read_idx(folder + "/missing"), FormatError);
  CHECK_THROWS_AS(data::read_idx(folder), FormatError);
  CHECK_THROWS_AS(data::read_idx("/dev/zero"), FormatError);
  CHECK_THROWS_AS(data::read_idx(""), FormatError);
  std::filesystem::remove_all(folder);
}
