#include <tantu/core/dtype.h>

#include <fmt/format.h>

namespace tantu {

std::string_view name(DType t) {
  constexpr std::string_view names[kDTypeCount] = {"bool",    "uint8",    "int32",   "int64",
                                                   "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<int>(t)];
}

DType promote_types(DType a, DType b) {
  if (is_half(a) && is_half(b) && a != b) return kFloat32;
  return a < b ? b : a;
}

}  // namespace tantu

auto fmt::formatter<tantu::DType>::format(tantu::DType t, fmt::format_context& ctx) const
    -> fmt::format_context::iterator {
  return fmt::formatter<std::string_view>::format(tantu::name(t), ctx);
}
