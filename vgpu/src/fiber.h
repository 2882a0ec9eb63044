/// Stacks and the switch between them. A context is a saved stack pointer; the switch saves the callee-saved integer
/// registers only (the floating-point control words are unchanged by rule).
#pragma once
#include <cstddef>
#include <cstdint>

inline namespace vgpu_abi {
namespace vgpu::rt {

struct Stack {
  char* base;  ///< lowest usable byte; a guard page lies below
  size_t size;
  void* fake;  ///< address sanitizer's fake stack of this stack
  void* tsan;  ///< race checker's context of this stack
  Stack* next;
  unsigned colour;  ///< shifts the first frame by 64-byte steps, so that frames do not alias in the cache
  char* top() const { return base + size - 64 * (colour % 32); }
};

extern "C" void vgpu_switch(void** save, void* to);
/// A context that starts `entry` on the stack; entry never returns.
void* prepare(Stack& stack, void (*entry)());

/// Stacks of one worker, taken and given back in last-in first-out order, never returned to the system.
class StackPool {
 public:
  void reserve(size_t count);
  Stack* take() {
    Stack* s = free_;
    free_ = s->next;
    return s;
  }
  void give(Stack* s) {
    s->next = free_;
    free_ = s;
  }
  /// Takes every stack back, whoever holds it. After a fault (`abandoned`) sanitizer marks are cleaned off them, and
  /// what ran on them happens before whoever acquires `edge`.
  void recover(bool abandoned, void* edge);
  /// Whether the address lies in the guard page below one of the stacks.
  bool in_guard(const void* address) const;

 private:
  static constexpr size_t limit = 1100;
  Stack stacks_[limit];
  size_t count_ = 0;
  Stack* free_ = nullptr;
};

}  // namespace vgpu::rt
}  // namespace vgpu_abi
