#include "elf.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

inline namespace vgpu_abi {
namespace vgpu::rt {
namespace {

struct File {
  const char* data = nullptr;
  size_t size = 0;
  explicit File(const char* path) {
    int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
      void* p = mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (p != MAP_FAILED) data = static_cast<const char*>(p), size = static_cast<size_t>(st.st_size);
    }
    if (fd >= 0) ::close(fd);
  }
  ~File() {
    if (data) munmap(const_cast<char*>(data), size);
  }
  template <class T>
  const T* at(uint64_t offset, uint64_t count = 1) const {
    return offset <= size && count <= (size - offset) / sizeof(T) ? reinterpret_cast<const T*>(data + offset) : nullptr;
  }
};

bool function_local(const char* name) {
  return !std::strncmp(name, "_ZZ", 3);
}

void read_symbols(Module& m) {
  m.stripped = true;
  File file(m.path.empty() ? "/proc/self/exe" : m.path.c_str());
  auto* header = file.at<ElfW(Ehdr)>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG)) return;
  auto* sections = file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (!sections) return;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
    auto& strings = sections[sections[i].sh_link];
    auto* text = file.at<char>(strings.sh_offset, strings.sh_size);
    size_t count = sections[i].sh_size / sizeof(ElfW(Sym));
    auto* symbols = file.at<ElfW(Sym)>(sections[i].sh_offset, count);
    if (!text || !symbols) continue;
    m.stripped = false;
    for (size_t k = 0; k < count; ++k) {
      const auto& s = symbols[k];
      if (s.st_name >= strings.sh_size || s.st_shndx == SHN_UNDEF) continue;
      const char* name = text + s.st_name;
      int type = ELF64_ST_TYPE(s.st_info);
      if (type == STT_FUNC) m.functions.push_back({s.st_value, name});
      if ((type == STT_TLS || type == STT_OBJECT) && function_local(name))
        m.statics.push_back({s.st_value, s.st_size, name, type == STT_TLS});
    }
  }
  std::sort(m.functions.begin(), m.functions.end(), [](auto& a, auto& b) { return a.address < b.address; });
}

struct Search {
  uint64_t address;
  Module* module;
};

int visit(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool inside = false;
  size_t tls = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    auto& h = info->dlpi_phdr[i];
    uint64_t start = info->dlpi_addr + h.p_vaddr;
    if (h.p_type == PT_LOAD && search.address >= start && search.address < start + h.p_memsz) inside = true;
    if (h.p_type == PT_TLS) tls = h.p_memsz;
  }
  if (!inside) return 0;
  search.module = new Module;
  search.module->path = info->dlpi_name;
  search.module->base = info->dlpi_addr;
  search.module->tls_module = info->dlpi_tls_modid;
  search.module->tls_size = tls;
  return 1;
}

}  // namespace

std::string Module::name_of(const void* address) const {
  uint64_t offset = reinterpret_cast<uint64_t>(address) - base;
  auto it = std::lower_bound(functions.begin(), functions.end(), offset,
                             [](const Function& f, uint64_t a) { return f.address < a; });
  return it != functions.end() && it->address == offset ? it->name : std::string();
}

Module& module_of(const void* address) {
  static std::mutex mutex;
  static auto* known = new std::map<uint64_t, Module*>;
  Search search{reinterpret_cast<uint64_t>(address), nullptr};
  std::lock_guard lock(mutex);
  dl_iterate_phdr(visit, &search);
  if (!search.module) {
    search.module = new Module;
    search.module->stripped = true;
    return *search.module;
  }
  Module*& slot = (*known)[search.module->base];
  if (slot && slot->path == search.module->path) {
    delete search.module;
  } else {
    read_symbols(*search.module);
    slot = search.module;
  }
  return *slot;
}

std::string demangle(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (!text) return mangled;
  std::string name(text);
  std::free(text);
  return name;
}

}  // namespace vgpu::rt
}  // namespace vgpu_abi
