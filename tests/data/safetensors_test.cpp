#include <tantu/autograd/ops.h>
#include <tantu/data/safetensors.h>
#include <tantu/tests/catch.h>

#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

using namespace tantu;
using tantu::data::load_safetensors;
using tantu::data::save_safetensors;

namespace {

struct Folder {  // an empty folder of this test's own
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tantu-safetensors-" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string framed(const std::string& header, const std::string& data = "") {
  const uint64_t n = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &n, 8);
  return out + header + data;
}

}  // namespace

TEST_CASE("every dtype, shape and name survives a round trip, bit for bit") {
  const Folder folder;
  std::map<std::string, Tensor> tensors;
  for (DType t : {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64}) {
    tensors["m." + std::string(name(t))] = randint(0, 2, {3, 5}).to(t);
    tensors["zero " + std::string(name(t))] = zeros({0, 4}, {.dtype = t});
    tensors["scalar\n\"" + std::string(name(t))] = ones({}, {.dtype = t});
  }
  tensors["strided"] = rand({4, 6}).transpose(0, 1);
  tensors["nan"] = tensor({std::nan(""), INFINITY, -0.0});
  save_safetensors(folder.file("a"), tensors, {{"note", "ünïcode"}});
  const auto back = load_safetensors(folder.file("a"));
  CHECK(back.metadata == std::map<std::string, std::string>{{"note", "ünïcode"}});
  REQUIRE(back.tensors.size() == tensors.size());
  for (const auto& [key, t] : tensors) {
    const Tensor& b = back.tensors.at(key);
    CAPTURE(key);
    CHECK(b.dtype() == t.dtype());
    CHECK(b.sizes() == t.sizes());
    const Tensor packed = t.contiguous();
    CHECK((t.nbytes() == 0 || std::memcmp(b.data_ptr(), packed.data_ptr(), static_cast<size_t>(t.nbytes())) == 0));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("the bytes are the format's") {
  const Folder folder;
  save_safetensors(folder.file("empty"), {});
  CHECK(contents(folder.file("empty")) == framed("{}      "));
  save_safetensors(folder.file("meta"), {}, {{"framework", "pt"}});
  CHECK(contents(folder.file("meta")) == framed("{\"__metadata__\":{\"framework\":\"pt\"}}     "));
  save_safetensors(folder.file("one"), {{"attn.0", zeros({1, 2, 3})}});
  CHECK(contents(folder.file("one")).substr(0, 72) ==
        framed("{\"attn.0\":{\"dtype\":\"F32\",\"shape\":[1,2,3],\"data_offsets\":[0,24]}}"));
}

TEST_CASE("hostile files are FormatErrors") {
  const Folder folder;
  const std::string path = folder.file("bad");
  const std::string good = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
  const std::string bytes(8, '\1');
  put(path, framed(good, bytes));
  REQUIRE(load_safetensors(path).tensors.at("a").numel() == 2);
  std::vector<std::string> bad;
  const std::string whole = framed(good, bytes);
  for (size_t n = 0; n < whole.size(); ++n) bad.push_back(whole.substr(0, n));
  for (uint64_t n : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{100'000'001}, uint64_t{64}, uint64_t{62}}) {
    std::string text = whole;
    std::memcpy(text.data(), &n, 8);
    bad.push_back(text);
  }
  const auto header = [&](const std::string& h, const std::string& d = std::string(8, '\0')) {
    bad.push_back(framed(h, d));
  };
  header("[1]", "");
  header(" " + good);
  header(good + "\n");
  header(good + "x");
  header(good, bytes + "x");
  header(std::string(10000, '{'), "");
  header("{\"a\":\xff}", "");
  header(
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_"
      "offsets\":[0,8]}}");
  for (const char* entry :
       {"\"dtype\":\"F32\",\"shape\":[2]", "\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":[2e0],\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":[9223372036854775808,2],\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]",
        "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,7]",
        "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]",
        "\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]",
        "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]",
        "\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]", "\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":[[2]],\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":null,\"data_offsets\":[0,8]",
        "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1"})
    header("{\"a\":{" + std::string(entry) + "}}");
  header("{\"__metadata__\":{\"a\":1}}", "");
  header("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", "");
  header("{\"__metadata__\":\"x\"}", "");
  header(
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_"
      "offsets\":[0,8]}}");
  for (const std::string& text : bad) {
    CAPTURE(text.substr(0, 160), text.size());
    put(path, text);
    CHECK_THROWS_AS(load_safetensors(path), FormatError);
  }
}

TEST_CASE("what cannot be held or written says so") {
  const Folder folder;
  put(folder.file("i16"),
      framed("{\"a\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]}}", std::string(4, '\0')));
  CHECK_THROWS_AS(load_safetensors(folder.file("i16")), DTypeError);
  CHECK_THROWS_AS(load_safetensors(folder.file("absent")), Error);
  CHECK_THROWS_AS(save_safetensors(folder.file("no/such/folder"), {}), Error);
  CHECK_THROWS_AS(save_safetensors(folder.file("x"), {{"__metadata__", zeros({1})}}), ValueError);
  CHECK_THROWS_AS(save_safetensors(folder.file("x"), {{"\xff", zeros({1})}}), ValueError);
  CHECK_THROWS_AS(save_safetensors(folder.file("x"), {{"a", Tensor()}}), ValueError);
}

TEST_CASE("what is not a regular file is neither read nor replaced") {
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_AS(load_safetensors(pipe), Error);
  CHECK_THROWS_AS(save_safetensors(pipe, {{"x", ones({2})}}), Error);
  CHECK(std::filesystem::is_fifo(pipe));
  CHECK_THROWS_AS(load_safetensors(folder.file(".")), Error);
  CHECK_THROWS_AS(save_safetensors(folder.file("."), {{"x", ones({2})}}), Error);
  CHECK_THROWS_AS(save_safetensors("", {{"x", ones({2})}}), ValueError);
}
