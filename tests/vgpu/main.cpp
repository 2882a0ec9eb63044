#define CATCH_CONFIG_RUNNER
#include "vgpu_test.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace vgpu_test {
Child run_planted(const std::string& name, const std::string& environment) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return {-1, "no /proc"};
  std::string command = "TANTU_QUIET=0 " + environment + " '" + self + "' 'planted " + name + "' 2>&1";
  Child child{-1, ""};
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return child;
  char buffer[4096];
  while (size_t n = fread(buffer, 1, sizeof buffer, pipe)) child.output.append(buffer, n);
  int status = pclose(pipe);
  child.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return child;
}

void each_schedule(int seeds, int workers, const std::function<void()>& body) {
  const uint64_t seed = vgpu::seed();
  const int count = vgpu::workers();
  for (int w = 1; w <= workers; ++w)
    for (int s = 0; s < seeds; ++s) {
      vgpu::set_workers(w);
      vgpu::set_seed(static_cast<uint64_t>(s));
      INFO("seed " << s << ", " << w << " worker(s)");
      body();
    }
  vgpu::set_seed(seed);
  vgpu::set_workers(count);
}

std::vector<float> random_values(size_t count) {
  static std::mt19937 generator(20240607);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> v(count);
  for (float& x : v) x = uniform(generator);
  return v;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void reset_device() {
  cudaDeviceReset();
  vgpu::clear_report();
}

}  // namespace vgpu_test

int main(int argc, char** argv) {
  setenv("TANTU_VGPU_DEVICES", "2", 0);
  setenv("TANTU_VGPU_MEMORY", "256M", 0);
  setenv("TANTU_QUIET", "1", 0);
  Catch::Session session;
  if (session.applyCommandLine(argc, argv) != 0) return 2;
  if (session.run() != 0) return 1;
  return 0;
}
