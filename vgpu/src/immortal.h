/// Objects that are made at first use and never destroyed, so that no exit order can hurt. They lie in static storage:
/// the race checker would take a heap allocation for a write that races with the first lock of a mutex in it.
#pragma once
#include <new>

inline namespace vgpu_abi {
namespace vgpu::rt {

template <class T>
T& immortal() {
  alignas(T) static char storage[sizeof(T)];
  static T* object = ::new (storage) T;
  return *object;
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
