#include <tantu/data/safetensors_header.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace tantu::data::detail {

namespace {

struct KnownDType {
  std::string_view name;
  uint64_t bytes;
  std::optional<DType> dtype;
};

const KnownDType kKnown[] = {
    {"BOOL", 1, kBool},           {"U8", 1, kUInt8},        {"I8", 1, std::nullopt},  {"F8_E5M2", 1, std::nullopt},
    {"F8_E4M3", 1, std::nullopt}, {"I16", 2, std::nullopt}, {"U16", 2, std::nullopt}, {"F16", 2, kFloat16},
    {"BF16", 2, kBFloat16},       {"I32", 4, kInt32},       {"U32", 4, std::nullopt}, {"F32", 4, kFloat32},
    {"F64", 8, kFloat64},         {"I64", 8, kInt64},       {"U64", 8, std::nullopt},
};

const KnownDType& known(DType t) {
  for (const KnownDType& k : kKnown)
    if (k.dtype == t) return k;
  throw DTypeError(fmt::format("safetensors: {} cannot be stored", t));
}

// Takes the parser's events; anything that is not a header throws.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const std::string& path, std::map<std::string, std::string>& metadata)
      : path_(path), metadata_(metadata) {}

  std::vector<HeaderEntry> entries;

  bool start_object(size_t) override {
    if (where_ == Where::Start) where_ = Where::Root;
    else if (where_ == Where::Root) where_ = key_ == "__metadata__" ? Where::Metadata : Where::Tensor;
    else fail("an object where none belongs");
    if (where_ == Where::Tensor) {
      entries.push_back({});
      entries.back().name = key_;
      seen_.clear();
      offsets_.clear();
    }
    return true;
  }

  bool end_object() override {
    if (where_ == Where::Tensor) finish_entry();
    where_ = where_ == Where::Root ? Where::End : Where::Root;
    return true;
  }

  bool key(string_t& k) override {
    key_ = k;
    const bool fresh = where_ == Where::Root       ? names_.insert(k).second
                       : where_ == Where::Metadata ? metadata_.emplace(k, "").second
                                                   : seen_.insert(k).second;
    if (!fresh) fail(fmt::format("the key \"{}\" appears twice", k));
    if (where_ == Where::Tensor && k != "dtype" && k != "shape" && k != "data_offsets")
      fail(fmt::format("the key \"{}\" is unknown", k));
    return true;
  }

  bool string(string_t& s) override {
    if (where_ == Where::Metadata) metadata_[key_] = s;
    else if (where_ == Where::Tensor && key_ == "dtype") entries.back().dtype_name = s;
    else fail(fmt::format("the text \"{}\" where none belongs", s));
    return true;
  }

  bool start_array(size_t) override {
    if (where_ != Where::Tensor || key_ == "dtype") fail("a list where none belongs");
    where_ = Where::List;
    return true;
  }
  bool end_array() override {
    where_ = Where::Tensor;
    return true;
  }

  bool number_unsigned(number_unsigned_t n) override {
    if (where_ != Where::List) fail(fmt::format("the number {} where none belongs", n));
    if (key_ == "data_offsets") {
      offsets_.push_back(n);
      return true;
    }
    if (n > (uint64_t{1} << 59)) fail(fmt::format("a size of {}", n));
    if (entries.back().shape.size() == kMaxDims) fail(fmt::format("more than {} dimensions", kMaxDims));
    entries.back().shape.push_back(static_cast<int64_t>(n));
    return true;
  }

  bool number_integer(number_integer_t n) override { return fail(fmt::format("the negative number {}", n)); }
  bool number_float(number_float_t, const string_t& text) override {
    return fail(fmt::format("the number {} is not a whole one", text));
  }
  bool null() override { return fail("a null"); }
  bool boolean(bool) override { return fail("a boolean"); }
  bool binary(binary_t&) override { return fail("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    return fail(fmt::format("not JSON at byte {}: {}", position, e.what()));
  }

 private:
  enum class Where { Start, Root, Metadata, Tensor, List, End };

  bool fail(const std::string& what) const {
    throw FormatError(fmt::format("safetensors: {}: header: {}{}", path_, what,
                                  key_.empty() ? "" : fmt::format(" (at \"{}\")", key_)));
  }

  void finish_entry() {
    HeaderEntry& e = entries.back();
    key_ = e.name;
    if (seen_.size() != 3) fail("an entry needs dtype, shape and data_offsets");
    const auto type =
        std::find_if(std::begin(kKnown), std::end(kKnown), [&](const KnownDType& k) { return k.name == e.dtype_name; });
    if (type == std::end(kKnown)) fail(fmt::format("the dtype \"{}\" is unknown", e.dtype_name));
    e.dtype = type->dtype;
    if (offsets_.size() != 2) fail(fmt::format("{} data_offsets", offsets_.size()));
    e.begin = offsets_[0];
    e.end = offsets_[1];
    uint64_t bytes = type->bytes;
    bool zero = false, overflow = false;
    for (int64_t s : e.shape) {
      if (s == 0) zero = true;
      else overflow |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(s), &bytes);
    }
    if (zero) bytes = 0;
    else if (overflow) fail(fmt::format("the shape {} is too large", e.shape));
    if (e.begin > e.end || e.end - e.begin != bytes)
      fail(
          fmt::format("{} {} needs {} bytes, the offsets are {} and {}", e.dtype_name, e.shape, bytes, e.begin, e.end));
  }

  const std::string& path_;
  std::map<std::string, std::string>& metadata_;
  Where where_ = Where::Start;
  std::string key_;
  std::set<std::string> names_, seen_;
  std::vector<uint64_t> offsets_;
};

}  // namespace

int dtype_rank(DType t) {
  return static_cast<int>(&known(t) - kKnown);
}

std::string write_header(const std::vector<std::pair<std::string, Tensor>>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const auto& [name, t] : tensors) {
    TANTU_CHECK(name != "__metadata__", ValueError, "save_safetensors: a tensor cannot be named __metadata__");
    const uint64_t end = at + static_cast<uint64_t>(t.nbytes());
    nlohmann::ordered_json entry;
    entry["dtype"] = known(t.dtype()).name;
    entry["shape"] = std::vector<int64_t>(t.sizes().begin(), t.sizes().end());
    entry["data_offsets"] = {at, end};
    header[name] = std::move(entry);
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    throw ValueError("save_safetensors: a name or a metadata text is not UTF-8");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

std::vector<HeaderEntry> read_header(const std::string& path, const std::string& text, uint64_t data_bytes,
                                     std::map<std::string, std::string>& metadata) {
  TANTU_CHECK(!text.empty() && text.front() == '{', FormatError,
              "safetensors: {}: the header does not begin with an opening brace", path);
  const size_t last = text.find_last_not_of(' ');
  TANTU_CHECK(text[last] == '}', FormatError,
              "safetensors: {}: the header does not end with a closing brace and spaces", path);
  HeaderReader reader(path, metadata);
  nlohmann::json::sax_parse(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(last + 1), &reader);
  std::vector<HeaderEntry> entries = std::move(reader.entries);
  std::stable_sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const HeaderEntry& e : entries) {
    TANTU_CHECK(e.begin == at, FormatError,
                "safetensors: {}: \"{}\" begins at byte {}, but the tensors before it end at {}", path, e.name, e.begin,
                at);
    at = e.end;
  }
  TANTU_CHECK(at == data_bytes, FormatError, "safetensors: {}: the tensors end at byte {}, the file's data at {}", path,
              at, data_bytes);
  return entries;
}

}  // namespace tantu::data::detail
