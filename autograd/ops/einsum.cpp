#include <tantu/autograd/ops.h>
#include <tantu/autograd/tape.h>

#include <algorithm>
#include <string>

namespace tantu {

namespace {

// A dimension's name: a letter's code, or for a dimension under "..." a number below the letters, ascending left to
// right.
using Label = int64_t;
constexpr Label kLabels = 128;
constexpr Label ellipsis_label(int64_t from_right) {
  return kMaxDims - 1 - from_right;
}
constexpr bool is_ellipsis(Label label) {
  return label < kMaxDims;
}
static_assert(kMaxDims < 'A');

struct Term {
  Tensor t;
  Dims labels;  // one per dimension of t

  bool has(Label label) const { return find(label) >= 0; }
  int find(Label label) const {
    const auto* at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? -1 : static_cast<int>(at - labels.begin());
  }
  int64_t size(Label label) const { return t.sizes()[find(label)]; }
};

struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> result;

  explicit Equation(std::string_view text) {
    std::string packed;
    for (size_t i = 0; i < text.size(); ++i) {
      TANTU_CHECK(text[i] != '.' || i == 0 || text[i - 1] != ' ' || packed.empty() || packed.back() != '.', ValueError,
                  "einsum: found '.' that is not part of any ellipsis in \"{}\"", text);
      if (text[i] != ' ') packed += text[i];
    }
    const size_t arrow = packed.find("->");
    if (arrow != std::string::npos) result = packed.substr(arrow + 2);
    const std::string left = packed.substr(0, arrow);
    for (size_t start = 0; start <= left.size();) {
      const size_t end = std::min(left.find(',', start), left.size());
      terms.push_back(left.substr(start, end - start));
      start = end + 1;
    }
  }
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The labels of "ab...c"; `ellipsis` stands for the dots.
Dims parse(const std::string& term, const Dims& ellipsis) {
  Dims labels;
  bool seen = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      TANTU_CHECK(!seen && term.compare(i, 3, "...") == 0, ValueError,
                  "einsum: found '.' that is not part of the one ellipsis in \"{}\"", term);
      for (Label label : ellipsis) labels.push_back(label);
      seen = true;
      i += 2;
      continue;
    }
    TANTU_CHECK(is_letter(term[i]), ValueError,
                "einsum: invalid subscript given at index {} in \"{}\", subscripts must be in [a-zA-Z]", i, term);
    labels.push_back(term[i]);
  }
  return labels;
}

std::string show(Label label) {
  return is_ellipsis(label) ? "..." : std::string(1, static_cast<char>(label));
}

Term make_term(const std::string& text, const Tensor& t, size_t position) {
  const int64_t letters = std::count_if(text.begin(), text.end(), is_letter);
  const bool dots = text.find('.') != std::string::npos;
  TANTU_CHECK(dots ? letters <= t.dim() : letters == t.dim(), ShapeError,
              "einsum: the number of subscripts in the equation ({}) does not match the number of dimensions ({}) for "
              "operand {}{}",
              letters, t.dim(), position, dots ? "" : " and no ellipsis was given");
  Dims ellipsis;
  for (int64_t i = t.dim() - letters; dots && i > 0; --i) ellipsis.push_back(ellipsis_label(i - 1));
  Term term{t, parse(text, ellipsis)};
  for (int q = 0; q < term.labels.size(); ++q) {  // a repeated letter: the diagonal
    const Label label = term.labels[q];
    const int p = term.find(label);
    if (p == q) continue;
    TANTU_CHECK(term.t.sizes()[p] == term.t.sizes()[q], ShapeError,
                "einsum: subscript {} is repeated for operand {} but the sizes don't match, {} != {}", show(label),
                position, term.t.sizes()[q], term.t.sizes()[p]);
    term.t = term.t.diagonal(0, p, q);
    term.labels.erase(q);
    term.labels.erase(p);
    term.labels.push_back(label);
    q = -1;
  }
  return term;
}

// Each label's size after broadcasting; dimensions of size 1 that meet larger ones are dropped.
void broadcast(std::vector<Term>& terms) {
  int64_t sizes[kLabels];
  std::fill(sizes, sizes + kLabels, 1);
  for (size_t i = 0; i < terms.size(); ++i)
    for (Label label : terms[i].labels) {
      const int64_t have = terms[i].size(label);
      int64_t& size = sizes[label];
      TANTU_CHECK(have == size || have == 1 || size == 1, ShapeError,
                  "einsum: operands do not broadcast: subscript {} has size {} for operand {} but {} before",
                  show(label), have, i, size);
      if (size == 1) size = have;
    }
  for (Term& term : terms)
    for (int d = term.labels.size() - 1; d >= 0; --d)
      if (term.t.sizes()[d] != sizes[term.labels[d]]) {
        term.t = term.t.squeeze(d);
        term.labels.erase(d);
      }
}

Dims result_labels(const Equation& equation, const std::vector<Term>& terms, const std::vector<int>& occurrences) {
  Dims ellipsis;
  for (Label label = 0; label < kMaxDims; ++label)
    for (const Term& term : terms)
      if (term.has(label)) {
        ellipsis.push_back(label);
        break;
      }
  Dims labels = ellipsis;
  if (!equation.result) {
    for (Label label = kMaxDims; label < kLabels; ++label)
      if (occurrences[static_cast<size_t>(label)] == 1) labels.push_back(label);
    return labels;
  }
  labels = parse(*equation.result, ellipsis);
  for (int i = 0; i < labels.size(); ++i) {
    TANTU_CHECK(std::find(labels.begin(), labels.begin() + i, labels[i]) == labels.begin() + i, ValueError,
                "einsum: output subscript {} appears more than once in the output", show(labels[i]));
    TANTU_CHECK(is_ellipsis(labels[i]) || occurrences[static_cast<size_t>(labels[i])] > 0, ValueError,
                "einsum: output subscript {} does not appear in the equation for any input operand", show(labels[i]));
  }
  return labels;
}

void sum_away(Term& term, const std::vector<bool>& needed, const Term* other) {
  Dims gone;
  for (int d = term.labels.size() - 1; d >= 0; --d) {
    const Label label = term.labels[d];
    if (needed[static_cast<size_t>(label)] || (other && other->has(label))) continue;
    gone.push_back(d);
    term.labels.erase(d);
  }
  if (!gone.empty()) term.t = sum(term.t, gone);
}

Dims joined(std::initializer_list<const Dims*> parts) {
  Dims all;
  for (const Dims* part : parts)
    for (int64_t v : *part) all.push_back(v);
  return all;
}

Tensor arranged(const Term& term, const Dims& order) {
  Dims dims;
  for (Label label : order) dims.push_back(term.find(label));
  return term.t.permute(dims);
}

Shape sizes_of(const Term& term, const Dims& labels) {
  Shape sizes;
  for (Label label : labels) sizes.push_back(term.size(label));
  return sizes;
}

Term contract(Term a, Term b, const std::vector<bool>& needed) {
  sum_away(a, needed, &b);
  sum_away(b, needed, &a);
  Dims batch, summed, left, right;
  for (Label label : a.labels)
    (!b.has(label) ? left : needed[static_cast<size_t>(label)] ? batch : summed).push_back(label);
  for (Label label : b.labels)
    if (!a.has(label)) right.push_back(label);
  const Shape shape_b = sizes_of(a, batch), shape_l = sizes_of(a, left), shape_r = sizes_of(b, right);
  const int64_t B = numel(shape_b), M = numel(shape_l), N = numel(shape_r), K = numel(sizes_of(a, summed));
  const Tensor x = arranged(a, joined({&batch, &left, &summed})), y = arranged(b, joined({&batch, &summed, &right}));
  const Dims labels = joined({&batch, &left, &right});
  const Shape out = joined({&shape_b, &shape_l, &shape_r});
  if (!summed.empty()) return {bmm(reshape(x, {B, M, K}), reshape(y, {B, K, N})).view(out), labels};
  const Shape ones_l = Dims::filled(left.size(), 1), ones_r = Dims::filled(right.size(), 1);
  return {mul(reshape(x, joined({&shape_b, &shape_l, &ones_r})), reshape(y, joined({&shape_b, &ones_l, &shape_r}))),
          labels};
}

}  // namespace

Tensor einsum(std::string_view text, const std::vector<Tensor>& operands, Site at) {
  tape::Op op("einsum", at);
  const Equation equation(text);
  TANTU_CHECK(!operands.empty(), ValueError, "einsum: must provide at least one operand");
  TANTU_CHECK(equation.terms.size() == operands.size(), ValueError,
              "einsum: {} operands were provided, but the equation \"{}\" has {}", operands.size(), text,
              equation.terms.size());
  for (const Tensor& t : operands) {
    tape::common_device("einsum", {{"first", &operands[0]}, {"other", &t}});
    TANTU_CHECK(t.dtype() == operands[0].dtype(), DTypeError,
                "einsum: expected all operands to have the same dtype, but got {} and {}", operands[0].dtype(),
                t.dtype());
  }
  std::vector<Term> terms;
  std::vector<int> occurrences(kLabels);
  for (size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(make_term(equation.terms[i], operands[i], i));
    for (char c : equation.terms[i]) ++occurrences[static_cast<unsigned char>(c)];
  }
  const Dims out = result_labels(equation, terms, occurrences);
  broadcast(terms);
  Term result = terms[0];
  for (size_t i = 1; i <= terms.size(); ++i) {
    std::vector<bool> needed(kLabels);
    for (Label label : out) needed[static_cast<size_t>(label)] = true;
    for (size_t later = i + 1; later < terms.size(); ++later)
      for (Label label : terms[later].labels) needed[static_cast<size_t>(label)] = true;
    if (i < terms.size()) result = contract(result, terms[i], needed);
    else sum_away(result, needed, nullptr);
  }
  return arranged(result, out);
}

}  // namespace tantu
