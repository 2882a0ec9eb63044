/// The symbol table of a loaded library, read from its file: kernel names and the place of their shared memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

inline namespace vgpu_abi {
namespace vgpu::rt {

struct Module {
  struct Function {
    uint64_t address;
    std::string name;  ///< mangled
  };
  struct Static {
    uint64_t offset, size;  ///< in the TLS segment, or (tls = false) in the image
    std::string name;
    bool tls;
  };
  std::string path;
  uint64_t base = 0;  ///< load address
  size_t tls_module = 0, tls_size = 0;
  bool stripped = false;
  std::vector<Function> functions;  ///< by address
  std::vector<Static> statics;      ///< function-local ones only

  /// The mangled name of the function at this address, or "".
  std::string name_of(const void* address) const;
};

/// The module that holds the code address; read once, kept.
Module& module_of(const void* address);
std::string demangle(const std::string& mangled);

}  // namespace vgpu::rt
}  // namespace vgpu_abi
