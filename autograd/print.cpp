#include <tantu/autograd/grad_mode.h>
#include <tantu/core/print.h>
#include <tantu/core/sync.h>

#include <fmt/format.h>

#include <ostream>

namespace tantu {

namespace {

std::string tuple(const Shape& sizes) {
  std::string text = "(";
  for (int i = 0; i < sizes.size(); ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", sizes[i]);
  return text + (sizes.size() == 1 ? ",)" : ")");
}

std::vector<std::string> suffixes_of(const Tensor& t) {
  std::vector<std::string> list;
  if (!t.device().is_cpu()) list.push_back(fmt::format("device='{}'", t.device()));
  const bool is_empty = t.numel() == 0;
  if ((is_empty && t.dim() != 1) || (!is_empty && print_options().edge_items == 0))
    list.push_back("size=" + tuple(t.sizes()));
  const DType type = t.dtype();
  if (type != kFloat32 && (is_empty || (type != kInt64 && type != kBool)))
    list.push_back(fmt::format("dtype={}", type));
  if (const std::string name = t.grad_fn_name(); !name.empty()) list.push_back(fmt::format("grad_fn=<{}>", name));
  else if (t.requires_grad()) list.push_back("requires_grad=True");
  return list;
}

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return "tensor(undefined)";
  NoGradGuard no_grad;
  const std::string prefix = "tensor(";
  const auto indent = static_cast<int64_t>(prefix.size());
  const SyncReasonScope reason(SyncReason::Print);
  const Tensor host = detach().cpu();
  return in_host_memory("to_string", [&] {
    return close_with_suffixes(prefix + format_elements(host.in(), indent), suffixes_of(*this), indent);
  });
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  return out << t.to_string();
}

}  // namespace tantu

auto fmt::formatter<tantu::Tensor>::format(const tantu::Tensor& t, fmt::format_context& ctx) const
    -> fmt::format_context::iterator {
  return fmt::formatter<std::string_view>::format(t.to_string(), ctx);
}
