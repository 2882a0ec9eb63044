/// Sanitizer hooks, found at load time: the runtime itself is never instrumented, so one build serves every lane.
#pragma once
#include <cstddef>

extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake, const void* bottom, size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake, const void** old_bottom, size_t* old_size);
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* p, size_t n);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* p, size_t n);
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __tsan_acquire(void* p);
__attribute__((weak)) void __tsan_release(void* p);
__attribute__((weak)) void __tsan_ignore_thread_begin();
__attribute__((weak)) void __tsan_ignore_thread_end();
}

inline namespace vgpu_abi {
namespace vgpu::rt {

inline bool asan() {
  return __asan_poison_memory_region != nullptr;
}
inline bool tsan() {
  return __tsan_create_fiber != nullptr;
}
inline void poison_region(const void* p, size_t n) {
  if (asan() && n) __asan_poison_memory_region(p, n);
}
inline void unpoison_region(const void* p, size_t n) {
  if (asan() && n) __asan_unpoison_memory_region(p, n);
}
inline void hb_release(void* p) {
  if (tsan()) __tsan_release(p);
}
inline void hb_acquire(void* p) {
  if (tsan()) __tsan_acquire(p);
}
/// One byte over the range without any call that a sanitizer could see.
inline void fill(void* p, size_t n, int value) {
#if defined(__x86_64__)
  asm volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(value) : "memory");
#else
  for (volatile unsigned char* b = static_cast<unsigned char*>(p); n--; ++b) *b = static_cast<unsigned char>(value);
#endif
}
inline void fill_poison(void* p, size_t n) {
  fill(p, n, 0xff);
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
