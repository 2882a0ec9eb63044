#include "svg.h"

#include <tantu/core/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace examples {

namespace {

constexpr double kWidth = 760, kHeight = 400, kLeft = 64, kRight = 64, kTop = 48, kBottom = 52;
const char* kColors[] = {"#2a78d6", "#d9632a", "#2a9d5c", "#8a5cd1"};
const char* kDashes[] = {"", "7 4", "2 3", "9 3 2 3"};  // colour is never the only difference

const char* kStyle =
    "<style>text{font:13px system-ui,sans-serif;fill:#222}.axis{stroke:#888;fill:none}.grid{stroke:#8884}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>\n";

std::string escape(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

struct Scale {
  double low = 0, high = 1, step = 0.5;
};

// A scale with round steps that holds all finite values.
Scale scale_of(const std::vector<Curve>& curves, bool right) {
  double low = INFINITY, high = -INFINITY;
  for (const Curve& c : curves)
    if (c.right_axis == right)
      for (double v : c.y)
        if (std::isfinite(v)) {
          low = std::min(low, v);
          high = std::max(high, v);
        }
  if (!(low <= high)) return {};
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  const double raw = (high - low) / 5, power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power < 1.5 ? 1 : raw / power < 3.5 ? 2 : raw / power < 7.5 ? 5 : 10);
  return {std::floor(low / step) * step, std::ceil(high / step) * step, step};
}

double x_of(double x, double low, double high) {
  return kLeft + (kWidth - kLeft - kRight) * (high > low ? (x - low) / (high - low) : 0.5);
}
double y_of(double y, const Scale& s) {
  return kHeight - kBottom - (kHeight - kTop - kBottom) * (y - s.low) / (s.high - s.low);
}

void draw_scale(std::string& svg, const Scale& s, bool right, bool grid) {
  for (double v = s.low; v <= s.high + s.step / 2; v += s.step) {
    const double y = y_of(v, s);
    if (grid)
      svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kLeft,
                         kWidth - kRight, y, y);
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"{}\">{:.4g}</text>\n",
                       right ? kWidth - kRight + 8 : kLeft - 8, y + 4, right ? "start" : "end",
                       std::fabs(v) < s.step / 1e6 ? 0.0 : v);
  }
}

}  // namespace

std::string line_chart(const std::string& title, const std::string& x_label, const std::string& left_label,
                       const std::string& right_label, const std::vector<Curve>& curves) {
  double low = INFINITY, high = -INFINITY;
  bool has_right = false;
  for (const Curve& c : curves) {
    has_right |= c.right_axis;
    for (double v : c.x) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  const Scale left = scale_of(curves, false), right = scale_of(curves, true);
  std::string svg =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n",
                  kWidth, kHeight, escape(title));
  svg += kStyle;
  svg += fmt::format("<text x=\"{}\" y=\"22\" font-weight=\"600\">{}</text>\n", kLeft, escape(title));
  draw_scale(svg, left, false, true);
  if (has_right) draw_scale(svg, right, true, false);
  svg += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}{}\"/>\n", kLeft, kTop, kHeight - kBottom, kWidth - kRight,
                     has_right ? fmt::format("V{}", kTop) : "");
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", kWidth / 2, kHeight - 8,
                     escape(x_label));
  svg += fmt::format("<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", kHeight / 2,
                     escape(left_label));
  if (has_right)
    svg += fmt::format("<text transform=\"translate({} {}) rotate(90)\" text-anchor=\"middle\">{}</text>\n",
                       kWidth - 14, kHeight / 2, escape(right_label));
  for (int i = 0; i <= 5 && std::isfinite(low); ++i) {
    const double v = low + (high - low) * i / 5;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.3g}</text>\n", x_of(v, low, high),
                       kHeight - kBottom + 20, v);
  }
  double legend = kLeft + 12;
  for (size_t i = 0; i < curves.size(); ++i) {
    const Curve& c = curves[i];
    const std::string style = fmt::format("stroke=\"{}\" stroke-width=\"2\" fill=\"none\" stroke-dasharray=\"{}\"",
                                          kColors[i % 4], kDashes[i % 4]);
    std::string points;
    for (size_t k = 0; k < std::min(c.x.size(), c.y.size()); ++k)
      if (std::isfinite(c.y[k]))
        points += fmt::format("{:.1f},{:.1f} ", x_of(c.x[k], low, high), y_of(c.y[k], c.right_axis ? right : left));
    svg += fmt::format("<polyline {} points=\"{}\"><title>{}</title></polyline>\n", style, points, escape(c.name));
    svg += fmt::format("<line {} x1=\"{}\" x2=\"{}\" y1=\"36\" y2=\"36\"/><text x=\"{}\" y=\"40\">{}</text>\n", style,
                       legend, legend + 26, legend + 32, escape(c.name));
    legend += 60 + 7.2 * static_cast<double>(c.name.size());
  }
  return svg + "</svg>\n";
}

std::string image_sheet(const std::string& title, const std::vector<Thumbnail>& pictures, int side, int columns) {
  const int scale = 3, cell_w = side * scale + 28, cell_h = side * scale + 40;
  const int rows = (static_cast<int>(pictures.size()) + columns - 1) / columns;
  std::string svg =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n",
                  columns * cell_w + 28, rows * cell_h + 48, escape(title));
  svg += kStyle;
  svg += fmt::format("<text x=\"28\" y=\"24\" font-weight=\"600\">{}</text>\n", escape(title));
  for (size_t i = 0; i < pictures.size(); ++i) {
    const int x0 = 28 + static_cast<int>(i) % columns * cell_w, y0 = 40 + static_cast<int>(i) / columns * cell_h;
    svg += fmt::format("<g transform=\"translate({} {})\"><rect width=\"{}\" height=\"{}\" fill=\"#000\"/>\n", x0, y0,
                       side * scale, side * scale);
    for (int r = 0; r < side; ++r)
      for (int c = 0; c < side;) {  // a run of equal grey is one rectangle
        const uint8_t grey = pictures[i].pixels[static_cast<size_t>(r * side + c)];
        int end = c + 1;
        while (end < side && pictures[i].pixels[static_cast<size_t>(r * side + end)] == grey) ++end;
        if (grey > 0)
          svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#{:02x}{:02x}{:02x}\"/>",
                             c * scale, r * scale, (end - c) * scale, scale, grey, grey, grey);
        c = end;
      }
    svg += fmt::format("\n<text y=\"{}\" font-size=\"11\">{}</text></g>\n", side * scale + 16,
                       escape(pictures[i].caption));
  }
  return svg + "</svg>\n";
}

void write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  TANTU_CHECK(file, Error, "write_file: cannot open {}", temporary);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  TANTU_CHECK(written && closed && std::rename(temporary.c_str(), path.c_str()) == 0, Error,
              "write_file: cannot write {}", path);
}

}  // namespace examples
