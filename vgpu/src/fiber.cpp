#include "fiber.h"

#include "sanitizers.h"

#include <sys/mman.h>
#include <cstdio>
#include <cstdlib>

#if defined(__x86_64__) && !defined(VGPU_UCONTEXT)
asm(R"(
.text
.globl vgpu_switch
.hidden vgpu_switch
.type vgpu_switch,@function
vgpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size vgpu_switch,.-vgpu_switch
)");
#define VGPU_FRAME_WORDS 8
#define VGPU_ENTRY_WORD 6
#elif defined(__aarch64__) && !defined(VGPU_UCONTEXT)
asm(R"(
.text
.globl vgpu_switch
.hidden vgpu_switch
.type vgpu_switch,%function
vgpu_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size vgpu_switch,.-vgpu_switch
)");
#define VGPU_FRAME_WORDS 20
#define VGPU_ENTRY_WORD 11
#else
#include <ucontext.h>
#include <new>
// A context is the address of a ucontext_t that lives on the suspended stack itself.
extern "C" void vgpu_switch(void** save, void* to) {
  ucontext_t self;
  *save = &self;
  swapcontext(&self, static_cast<ucontext_t*>(to));
}
#endif

inline namespace vgpu_abi {
namespace vgpu::rt {

void* prepare(Stack& stack, void (*entry)()) {
#ifdef VGPU_FRAME_WORDS
  void** sp = reinterpret_cast<void**>(stack.top()) - VGPU_FRAME_WORDS;
  for (int i = 0; i < VGPU_FRAME_WORDS; ++i) sp[i] = nullptr;
  sp[VGPU_ENTRY_WORD] = reinterpret_cast<void*>(entry);
  return sp;
#else
  char* place = stack.top() - (sizeof(ucontext_t) + 63) / 64 * 64;
  auto* context = ::new (place) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = stack.base;
  context->uc_stack.ss_size = static_cast<size_t>(place - stack.base);
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
#endif
}

void StackPool::reserve(size_t count) {
  constexpr size_t page = 4096;
  size_t size = asan() ? 256 << 10 : 64 << 10;
  while (count_ < count && count_ < limit) {
    void* map = mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
      std::fprintf(stderr, "vgpu: no address space for another device stack\n");
      std::abort();
    }
    mprotect(map, page, PROT_NONE);
    Stack& s = stacks_[count_];
    s = {static_cast<char*>(map) + page, size, nullptr, tsan() ? __tsan_create_fiber(0) : nullptr, nullptr,
         static_cast<unsigned>(count_)};
    ++count_;
    give(&s);
  }
}

void StackPool::recover(bool abandoned, void* edge) {
  void* self = tsan() && abandoned ? __tsan_get_current_fiber() : nullptr;
  free_ = nullptr;
  for (size_t i = count_; i-- > 0;) {
    Stack& s = stacks_[i];
    if (abandoned) unpoison_region(s.base, s.size);
    if (self) {  // what it did is over for whoever comes next; its half-finished call stack is thrown away
      __tsan_switch_to_fiber(s.tsan, 1);
      __tsan_release(edge);
      __tsan_switch_to_fiber(self, 1);
      __tsan_destroy_fiber(s.tsan);
      s.tsan = __tsan_create_fiber(0);
    }
    give(&s);
  }
}

bool StackPool::in_guard(const void* address) const {
  auto* p = static_cast<const char*>(address);
  for (size_t i = 0; i < count_; ++i)
    if (p < stacks_[i].base && p >= stacks_[i].base - 4096) return true;
  return false;
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
