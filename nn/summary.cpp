#include <tantu/autograd/ops/creation.h>
#include <tantu/autograd/tape.h>
#include <tantu/nn/module.h>

#include <fmt/format.h>

#include <set>

namespace tantu::nn {

namespace {

struct Row {
  std::string name, output;
  int64_t parameters;
  int64_t bytes;
};

// Parameters that no earlier row has shown, so that the rows add up to the total.
void own_parameters(const Module& m, std::set<const TensorImpl*>& seen, Row& row) {
  for (const Tensor& p : m.parameters())
    if (seen.insert(p.ref().get()).second) {
      row.parameters += p.numel();
      row.bytes += p.nbytes();
    }
}

std::string grouped(int64_t n) {
  std::string text = std::to_string(n);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

}  // namespace

std::string summary(Module& model, const Shape& input_sizes) {
  NoGradGuard no_grad;
  const bool training = model.is_training();
  std::vector<std::pair<std::shared_ptr<Module>, bool>> modes;
  for (const auto& [name, m] : model.named_modules()) modes.emplace_back(m, m->is_training());
  model.eval();
  const auto restore = [&] {
    model.train(training);
    for (auto& [m, on] : modes) m->train(on);
  };

  std::vector<Row> rows;
  std::set<const TensorImpl*> seen;
  try {
    const TensorList params = model.parameters();
    const TensorOptions like = params.empty() ? TensorOptions{} : params[0].options();
    Tensor x = zeros(input_sizes, like);
    const Tensor y = model.forward(x);
    bool chained = true;  // while every child maps one tensor to the next, the shapes in between are known
    for (const auto& [name, child] : model.named_children()) {
      Row row{fmt::format("{} ({})", name, child->name()), "-", 0, 0};
      if (chained) try {
          x = child->forward(x);
          row.output = x.sizes().to_string();
        } catch (const Error&) {
          chained = false;
        }
      own_parameters(*child, seen, row);
      rows.push_back(row);
    }
    if (!(chained && x.defined() && x.sizes() == y.sizes()))
      for (Row& row : rows) row.output = "-";
    Row rest{fmt::format("{} (itself)", model.name()), y.sizes().to_string(), 0, 0};
    own_parameters(model, seen, rest);
    rows.push_back(rest);
  } catch (...) {
    restore();
    throw;
  }
  restore();

  size_t width = 5;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string text = fmt::format("{:<{}}  {:<20}  {:>12}  {:>14}\n", "layer", width, "output", "parameters", "bytes");
  text += std::string(width + 52, '-') + "\n";
  int64_t parameters = 0, bytes = 0;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:<20}  {:>12}  {:>14}\n", row.name, width, row.output, grouped(row.parameters),
                        grouped(row.bytes));
    parameters += row.parameters;
    bytes += row.bytes;
  }
  text += std::string(width + 52, '-') + "\n";
  text += fmt::format("{:<{}}  {:<20}  {:>12}  {:>14}\n", "total", width, "", grouped(parameters), grouped(bytes));
  return text;
}

}  // namespace tantu::nn
