#include "fault.h"

#include "immortal.h"
#include "launch.h"
#include "runtime.h"
#include "sanitizers.h"

#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

inline namespace vgpu_abi {
namespace vgpu {
namespace rt {
namespace {

std::mutex text_mutex;
std::string& text() {
  return immortal<std::string>();
}

}  // namespace

void report(const std::string& message, bool fault) {
  std::lock_guard lock(text_mutex);
  text() = "vgpu: " + message;
  if (!fault || config().quiet) return;
  std::fprintf(stderr, "%s\n", text().c_str());
}

cudaError_t reject(cudaError_t error, const std::string& message) {
  report(message);
  return error;
}

std::string hex(unsigned long long value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%08llx", value);
  return buffer;
}

bool same_file(const char* a, const char* b) {
  return a == b || (a && b && !std::strcmp(a, b));
}

std::string place(Site site) {
  if (!site.file) return "unknown place";
  const char* slash = std::strrchr(site.file, '/');
  return std::string(slash ? slash + 1 : site.file) + ":" + std::to_string(site.line);
}

std::string launched_at(const char* file, int line, const LaunchCaller& caller) {
  std::string text = "launched at " + place({file, line});
  if (caller.op) text += std::string(" by ") + caller.op;
  if (caller.file) text += ", called at " + place({caller.file, caller.line});
  return text;
}

std::string where(const Worker& w) {
  const Launch& l = *w.launch;
  return kernel_name(l.kernel) + ", block (" + std::to_string(blockIdx.x) + "," + std::to_string(blockIdx.y) + "," +
         std::to_string(blockIdx.z) + "), " + launched_at(l.file, l.line, l.caller) + ", seed " +
         std::to_string(l.seed);
}

void Worker::record_fault(int error, const std::string& message) {
  if (tsan()) __tsan_ignore_thread_begin();
  faulted = true;
  int none = 0;
  if (launch->error.compare_exchange_strong(none, error)) report(message, true);
  if (config().abort_on_fault) std::abort();
  if (tsan()) __tsan_ignore_thread_end();
}

std::string Worker::deadlock_text() const {
  std::string message = "deadlock: divergent barrier or warp collective in " + where(*this);
  struct Group {
    std::string what;
    int count, first;
  };
  std::vector<Group> groups;
  int gone = 0;
  for (int i = 0; i < lanes_count; ++i) {
    const Lane& l = lanes[i];
    if (l.state == Lane::exited) {
      ++gone;
      continue;
    }
    std::string what = place(l.site) + " ";
    if (l.state == Lane::at_barrier) what += "__syncthreads";
    if (l.state == Lane::at_named) what += "named barrier " + std::to_string(l.barrier_id);
    if (l.state == Lane::at_warp) what += std::string(op_name(l.op)) + " mask " + hex(l.mask);
    bool found = false;
    for (auto& g : groups)
      if (g.what == what) ++g.count, found = true;
    if (!found) groups.push_back({what, 1, i});
  }
  for (auto& g : groups)
    message += "\n  " + std::to_string(g.count) + " thread(s) wait at " + g.what + " (e.g. thread " +
               std::to_string(g.first) + ")";
  if (gone) message += "\n  " + std::to_string(gone) + " thread(s) exited";
  return message;
}

// ---- signals -------------------------------------------------------------------------------------------------------

namespace {

struct sigaction old_segv, old_bus;
constexpr int spin_signal = SIGURG;

std::string describe(const void* address) {
  Device* d = device_of(address);
  if (!d) return "address " + hex(reinterpret_cast<uint64_t>(address));
  std::string what = "memory of vgpu:" + std::to_string(d->id);
  auto* a = d->arena.find(address);
  if (!a) return what + " (no live allocation at " + hex(reinterpret_cast<uint64_t>(address)) + ")";
  return what + " (buffer of " + std::to_string(a->second.bytes) + " bytes + " +
         std::to_string(reinterpret_cast<uint64_t>(address) - a->first) + ")";
}

std::string fault_text(const Worker& w) {
  const void* at = w.signal_address;
  Device* d = device_of(at);
  std::string message = "illegal address: " + describe(at);
  if (w.signal == spin_signal)
    message = "a block made no progress for " + std::to_string(config().watchdog) + " s: spin-wait";
  else if (w.signal == SIGBUS) message = "misaligned or unbacked access to " + describe(at);
  else if (w.stacks.in_guard(at)) message = "device stack overflow";
  else if (d && d->arena.find(at))
    message = "vgpu:" + std::to_string(d->id) + " memory used from another device without peer access";
  return message + " in " + where(w) + ", thread (" + std::to_string(threadIdx.x) + "," + std::to_string(threadIdx.y) +
         "," + std::to_string(threadIdx.z) + ")";
}

/// Where a signal handler sends the faulting thread: runs on the fiber's own stack, emptied, as ordinary code.
void landing() {
  Worker& w = *tl_worker;
  unpoison_region(w.current->stack->base, w.current->stack->size);
  if (w.signal == spin_signal && !config().quiet) backtrace_symbols_fd(w.frames, w.frame_count, 2);
  int error = w.signal == spin_signal               ? 702
              : w.signal == SIGBUS                  ? 716
              : w.stacks.in_guard(w.signal_address) ? 719
                                                    : 700;
  w.fault(error, [&] { return fault_text(w); });
}

/// Inside a signal handler: notes what happened and lets the thread go on at landing().
void leave_from_handler(int signal, void* address, ucontext_t* context, Worker& w) {
  w.signal = signal;
  w.signal_address = address;
  char* top = w.current->stack->top();
#if defined(__x86_64__)
  context->uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(top - 8);
  context->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&landing);
  context->uc_mcontext.gregs[REG_EFL] &= ~0x400ll;
#elif defined(__aarch64__)
  context->uc_mcontext.sp = reinterpret_cast<uint64_t>(top);
  context->uc_mcontext.pc = reinterpret_cast<uint64_t>(&landing);
#else
  (void)context, (void)top;
  std::abort();
#endif
}

void host_fault(void* address) {
  std::string message =
      "HOST code touched " + describe(address) + "; device memory is reached through cudaMemcpy or a kernel only";
  report(message);
  std::fprintf(stderr, "vgpu: %s\n", message.c_str());
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), 2);
}

void on_signal(int signal, siginfo_t* info, void* data) {
  Worker* w = tl_worker;
  if (w && w->current) return leave_from_handler(signal, info->si_addr, static_cast<ucontext_t*>(data), *w);
  struct sigaction& old = signal == SIGBUS ? old_bus : old_segv;
  static volatile sig_atomic_t passed_on = 0;
  if (passed_on)  // whoever came next has given it back
    std::signal(signal, SIG_DFL);
  else sigaction(signal, &old, nullptr);  // the access is repeated and takes its usual course
  passed_on = 1;
  if (device_of(info->si_addr)) host_fault(info->si_addr);
}

void on_spin(int signal, siginfo_t*, void* data) {
  Worker* w = tl_worker;
  if (!w || !w->current) return;
  const int saved = errno;
  w->frame_count = backtrace(w->frames, 32);
  errno = saved;
  if (tsan()) {  // it delivers this signal late, from where a fiber can't be left
    w->signal = signal;
    std::fprintf(stderr, "vgpu: %s\n", fault_text(*w).c_str());
    std::abort();
  }
  leave_from_handler(signal, nullptr, static_cast<ucontext_t*>(data), *w);
}

}  // namespace

void install_handlers() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  struct sigaction action = {}, now = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  auto ensure = [&](int signal, struct sigaction& old) {
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_sigaction == on_signal) return;
    old = now;
    sigaction(signal, &action, nullptr);
  };
  ensure(SIGSEGV, old_segv);
  ensure(SIGBUS, old_bus);
  static bool first = true;
  if (!first) return;
  first = false;
  action.sa_sigaction = on_spin;
  action.sa_flags |= SA_RESTART;
  sigaction(spin_signal, &action, nullptr);
  void* frame;
  backtrace(&frame, 1);  // loads what it needs now, not inside a handler
}

void use_signal_stack() {
  constexpr size_t size = 256 << 10;
  void* map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return;
  stack_t stack = {};
  stack.ss_sp = map;
  stack.ss_size = size;
  sigaltstack(&stack, nullptr);
}

void interrupt(unsigned long thread) {
  pthread_kill(static_cast<pthread_t>(thread), spin_signal);
}

}  // namespace rt

using namespace rt;

void device_fault(int error, const char* what, const char* file, int line) {
  rt::tl_worker->fault(error, [&] {
    return std::string(what) + " at " + place({file, line}) + " in " + where(*rt::tl_worker);
  });
}

void check_alignment(const void* ptr, size_t bytes, const char* file, int line) {
  if (reinterpret_cast<uintptr_t>(ptr) % bytes == 0) return;
  rt::tl_worker->fault(716, [&] {
    return "misaligned " + std::to_string(bytes) + "-byte access at " + place({file, line}) + " in " +
           where(*rt::tl_worker);
  });
}

std::string last_report() {
  std::lock_guard lock(text_mutex);
  return text();
}
void clear_report() {
  std::lock_guard lock(text_mutex);
  text().clear();
}

}  // namespace vgpu
}  // namespace vgpu_abi
