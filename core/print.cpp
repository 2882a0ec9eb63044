#include <tantu/core/print.h>

#include <algorithm>
#include <cmath>

namespace tantu {

namespace {

PrintOptions& options() {
  static thread_local PrintOptions of_thread;
  return of_thread;
}

double value_of(const ConstView& x, int64_t offset) {
  return visit_dtype(x.dtype, [&]<class T>(Tag<T>) { return static_cast<double>(x.as<T>()[offset]); });
}

// Writes every number in one width, chosen from all that are shown.
class Formatter {
 public:
  Formatter(const ConstView& x, bool summarize) : dtype_(x.dtype) {
    std::vector<int64_t> offsets;
    collect(x, 0, 0, summarize, offsets);
    if (is_floating(dtype_)) choose_mode(x, offsets);
    for (int64_t offset : offsets)
      if (counts(x, offset)) width_ = std::max(width_, static_cast<int64_t>(bare(x, offset).size()));
  }

  int64_t width() const { return width_; }
  std::string operator()(const ConstView& x, int64_t offset) const {
    const std::string text = bare(x, offset);
    const auto missing = std::max<int64_t>(0, width_ - static_cast<int64_t>(text.size()));
    return std::string(static_cast<size_t>(missing), ' ') + text;
  }

 private:
  static void collect(const ConstView& x, int dim, int64_t offset, bool summarize, std::vector<int64_t>& offsets) {
    if (dim == x.rank()) {
      offsets.push_back(offset);
      return;
    }
    const int64_t n = x.sizes[dim], edge = options().edge_items;
    for (int64_t i = 0; i < n; ++i) {
      if (summarize && n > 2 * edge && i == edge) i = n - edge;
      if (i < n) collect(x, dim + 1, offset + i * x.strides[dim], summarize, offsets);
    }
  }

  // Zeros and non-finite values fit in any column.
  bool counts(const ConstView& x, int64_t offset) const {
    if (!is_floating(dtype_)) return true;
    const double v = value_of(x, offset);
    return std::isfinite(v) && v != 0;
  }

  void choose_mode(const ConstView& x, const std::vector<int64_t>& offsets) {
    double low = INFINITY, high = 0;
    for (int64_t offset : offsets) {
      if (!counts(x, offset)) continue;
      const double v = value_of(x, offset);
      low = std::min(low, std::fabs(v));
      high = std::max(high, std::fabs(v));
      whole_ &= v == std::ceil(v);
    }
    if (high > 0) scientific_ = options().sci_mode.value_or(high / low > 1000 || high > 1e8 || low < 1e-4);
  }

  std::string bare(const ConstView& x, int64_t offset) const {
    if (dtype_ == kBool) return x.as<bool>()[offset] ? "True" : "False";
    if (dtype_ == kInt64) return fmt::format("{}", x.as<int64_t>()[offset]);
    const double v = value_of(x, offset);
    if (!is_floating(dtype_)) return fmt::format("{:.0f}", v);
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    if (scientific_) return fmt::format("{:.{}e}", v, options().precision);
    return whole_ ? fmt::format("{:.0f}.", v) : fmt::format("{:.{}f}", v, options().precision);
  }

  DType dtype_;
  bool whole_ = true, scientific_ = false;
  int64_t width_ = 1;
};

class Layout {
 public:
  Layout(const ConstView& x, bool summarize) : x_(x), summarize_(summarize), format_(x, summarize) {}

  std::string text(int dim, int64_t offset, int64_t indent) const {
    if (x_.rank() == 0) return format_(x_, offset);
    return "[" + (dim + 1 == x_.rank() ? row(offset, indent) : slices(dim, offset, indent)) + "]";
  }

 private:
  bool cuts(int dim) const { return summarize_ && x_.sizes[dim] > 2 * options().edge_items; }

  template <class F>
  std::vector<std::string> items(int dim, const char* gap, F item) const {
    std::vector<std::string> list;
    const int64_t n = x_.sizes[dim], edge = options().edge_items;
    for (int64_t i = 0; i < n; ++i) {
      if (cuts(dim) && i == edge) {
        list.push_back(gap);
        i = n - edge;
      }
      if (i < n) list.push_back(item(i * x_.strides[dim]));
    }
    return list;
  }

  std::string row(int64_t offset, int64_t indent) const {
    const char* gap = options().edge_items == 0 ? "..." : " ...";
    const auto list = items(x_.rank() - 1, gap, [&](int64_t step) { return format_(x_, offset + step); });
    const int64_t per_line = std::max<int64_t>(1, (options().line_width - indent) / (format_.width() + 2));
    std::string text;
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0)
        text +=
            static_cast<int64_t>(i) % per_line == 0 ? ",\n" + std::string(static_cast<size_t>(indent + 1), ' ') : ", ";
      text += list[i];
    }
    return text;
  }

  std::string slices(int dim, int64_t offset, int64_t indent) const {
    const auto list = items(dim, "...", [&](int64_t step) { return text(dim + 1, offset + step, indent + 1); });
    const std::string between = "," + std::string(static_cast<size_t>(x_.rank() - dim - 1), '\n') +
                                std::string(static_cast<size_t>(indent + 1), ' ');
    std::string joined;
    for (size_t i = 0; i < list.size(); ++i) joined += (i > 0 ? between : "") + list[i];
    return joined;
  }

  const ConstView& x_;
  bool summarize_;
  Formatter format_;
};

}  // namespace

const PrintOptions& print_options() {
  return options();
}

void set_print_options(const PrintOptions& o) {
  TANTU_CHECK(o.precision >= 0 && o.threshold >= 0 && o.edge_items >= 0 && o.line_width >= 0, ValueError,
              "set_print_options: precision {}, threshold {}, edge_items {} and line_width {} must not be negative",
              o.precision, o.threshold, o.edge_items, o.line_width);
  options() = o;
}

std::string format_elements(const ConstView& x, int64_t indent) {
  if (x.numel() == 0) return "[]";
  return Layout(x, x.numel() > options().threshold).text(0, 0, indent);
}

std::string close_with_suffixes(std::string text, const std::vector<std::string>& suffixes, int64_t indent) {
  const size_t last_break = text.rfind('\n');
  auto line = static_cast<int64_t>(last_break == std::string::npos ? text.size() + 2 : text.size() - last_break + 1);
  for (const std::string& suffix : suffixes) {
    const auto length = static_cast<int64_t>(suffix.size());
    if (line + length + 2 > options().line_width) {
      text += ",\n" + std::string(static_cast<size_t>(indent), ' ') + suffix;
      line = indent + length;
    } else {
      text += ", " + suffix;
      line += length + 2;
    }
  }
  return text + ")";
}

}  // namespace tantu
