#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace examples {

/// One curve of a chart.
struct Curve {
  std::string name;
  std::vector<double> x, y;
  bool right_axis = false;  ///< measured on the right-hand scale
};

/// A line chart with one or two scales, as a self-contained SVG text that reads on light and dark pages.
std::string line_chart(const std::string& title, const std::string& x_label, const std::string& left_label,
                       const std::string& right_label, const std::vector<Curve>& curves);

/// One picture of a sheet: 8-bit grey values, row by row, and the caption below.
struct Thumbnail {
  std::vector<uint8_t> pixels;
  std::string caption;
};

/// A sheet of square grey pictures of `side` x `side` pixels, `columns` in a row, as SVG.
std::string image_sheet(const std::string& title, const std::vector<Thumbnail>& pictures, int side, int columns);

/// Writes a text file through a temporary one, so that a crash leaves the old file or the new, never half of one.
/// Throws tantu::Error naming the file.
void write_file(const std::string& path, const std::string& text);

}  // namespace examples
