#pragma once

#include <tantu/core/error.h>
#include <tantu/core/half.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tantu {

/// Element types. The order is PyTorch's promotion order within a kind.
enum class DType : uint8_t { Bool, UInt8, Int32, Int64, Float16, BFloat16, Float32, Float64 };

inline constexpr DType kBool = DType::Bool;
inline constexpr DType kUInt8 = DType::UInt8;
inline constexpr DType kInt32 = DType::Int32;
inline constexpr DType kInt64 = DType::Int64;
inline constexpr DType kFloat16 = DType::Float16;
inline constexpr DType kBFloat16 = DType::BFloat16;
inline constexpr DType kFloat32 = DType::Float32;
inline constexpr DType kFloat64 = DType::Float64;
inline constexpr int kDTypeCount = 8;

/// Bytes of one element.
constexpr int64_t item_size(DType t) {
  constexpr int64_t bytes[kDTypeCount] = {1, 1, 4, 8, 2, 2, 4, 8};
  return bytes[static_cast<int>(t)];
}

constexpr bool is_floating(DType t) {
  return t >= DType::Float16;
}
constexpr bool is_half(DType t) {
  return t == DType::Float16 || t == DType::BFloat16;
}
/// An integer type or bool.
constexpr bool is_integral(DType t) {
  return t < DType::Float16;
}

/// "float32", as PyTorch prints it without its prefix.
std::string_view name(DType t);

/// The type that holds both (PyTorch's table for tensors of equal priority; float16 with bfloat16 gives float32).
DType promote_types(DType a, DType b);

/// Whether PyTorch would store a value of `from` into `to` without being told (float into int is refused).
constexpr bool can_cast(DType from, DType to) {
  if (is_floating(from) && !is_floating(to)) return false;
  return !(from != DType::Bool && to == DType::Bool);
}

namespace detail {
template <class T>
constexpr DType dtype_of_impl() {
  if constexpr (std::is_same_v<T, bool>) return DType::Bool;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::UInt8;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::Int32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8 && std::is_signed_v<T>) return DType::Int64;
  else if constexpr (std::is_same_v<T, float16>) return DType::Float16;
  else if constexpr (std::is_same_v<T, bfloat16>) return DType::BFloat16;
  else if constexpr (std::is_same_v<T, float>) return DType::Float32;
  else {
    static_assert(std::is_same_v<T, double>, "tantu has no dtype for this C++ type");
    return DType::Float64;
  }
}
}  // namespace detail

/// The DType of a C++ element type: bool, uint8_t, int32_t, int64_t, float16, bfloat16, float, double.
template <class T>
inline constexpr DType dtype_of = detail::dtype_of_impl<T>();

template <class T>
struct Tag {
  using type = T;
};

/// Calls `f(Tag<T>{})` with the C++ type of `t`.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::Bool: return f(Tag<bool>{});
    case DType::UInt8: return f(Tag<uint8_t>{});
    case DType::Int32: return f(Tag<int32_t>{});
    case DType::Int64: return f(Tag<int64_t>{});
    case DType::Float16: return f(Tag<float16>{});
    case DType::BFloat16: return f(Tag<bfloat16>{});
    case DType::Float32: return f(Tag<float>{});
    case DType::Float64: return f(Tag<double>{});
  }
  throw DTypeError("visit_dtype: not a dtype");
}

/// Calls `f(Tag<T>{})` for a floating type; the caller has checked that `t` is one.
template <class F>
decltype(auto) visit_floating(DType t, F&& f) {
  switch (t) {
    case DType::Float16: return f(Tag<float16>{});
    case DType::BFloat16: return f(Tag<bfloat16>{});
    case DType::Float32: return f(Tag<float>{});
    case DType::Float64: return f(Tag<double>{});
    default: throw DTypeError(fmt::format("visit_floating: {} is not a floating type", name(t)));
  }
}

/// The type sums are kept in: float for float16, bfloat16 and float, double for double, int64_t for integers and bool.
template <class T>
using acc_t =
    std::conditional_t<std::is_same_v<T, double>, double, std::conditional_t<std::is_integral_v<T>, int64_t, float>>;

}  // namespace tantu

template <>
struct TANTU_API fmt::formatter<tantu::DType> : fmt::formatter<std::string_view> {
  auto format(tantu::DType t, fmt::format_context& ctx) const -> fmt::format_context::iterator;
};
