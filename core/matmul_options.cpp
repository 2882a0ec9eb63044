#include <tantu/core/matmul_options.h>

#include <tantu/core/error.h>

#include <atomic>
#include <cstddef>

namespace tantu {

namespace {

constexpr std::string_view kBackends[] = {"cublas", "tantu"};
constexpr std::string_view kPrecisions[] = {"highest", "high"};

std::atomic<size_t> backend{0}, precision{0};

size_t place_of(std::string_view name, const std::string_view (&choices)[2], const char* function) {
  for (size_t i = 0; i < 2; ++i)
    if (choices[i] == name) return i;
  throw ValueError(
      fmt::format("{}: there is no \"{}\"; choose \"{}\" or \"{}\"", function, name, choices[0], choices[1]));
}

}  // namespace

void set_matmul_backend(std::string_view name) {
  backend.store(place_of(name, kBackends, "set_matmul_backend"), std::memory_order_relaxed);
}
std::string_view matmul_backend() {
  return kBackends[backend.load(std::memory_order_relaxed)];
}

void set_float32_matmul_precision(std::string_view name) {
  precision.store(place_of(name, kPrecisions, "set_float32_matmul_precision"), std::memory_order_relaxed);
}
std::string_view get_float32_matmul_precision() {
  return kPrecisions[precision.load(std::memory_order_relaxed)];
}

}  // namespace tantu
