#include <tantu/tests/catch.h>

#include <tantu/kernels/pointwise.h>
#include <tantu/tests/ops/op_table.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

// Every public operation has a row in the op table and a contract in its header.
using namespace tantu;

namespace {

struct Declaration {
  std::string name, where;
  bool has_contract = false;
};

std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

// The word in front of the first parenthesis: the function's name.
std::string name_in(const std::string& statement) {
  const size_t end = statement.find('(');
  size_t start = end;
  while (start > 0 && (std::isalnum(static_cast<unsigned char>(statement[start - 1])) || statement[start - 1] == '_'))
    --start;
  return statement.substr(start, end - start);
}

bool ends_statement(std::string line) {
  line = trimmed(line.substr(0, line.find("//")));
  return !line.empty() && (line.back() == ';' || line.back() == '{' || line.back() == '}');
}

// Function declarations with a `Site at`, of namespace tantu, macro definitions and inline operators left out. A `///`
// block belongs to the declaration right below it, and to overloads of the same name right below that one.
std::vector<Declaration> declarations(std::istream& text, const std::string& file) {
  std::vector<Declaration> found;
  std::string line, statement, previous;
  bool contract = false, in_macro = false, documented = false;
  for (int number = 1, start = 0; std::getline(text, line); ++number) {
    line = trimmed(line);
    const bool continues = !line.empty() && line.back() == '\\';
    const bool macro = in_macro || (!line.empty() && line[0] == '#');
    in_macro = macro && continues;
    if (macro) continue;
    if (line.rfind("///", 0) == 0) {
      contract = true;
      previous.clear();
      continue;
    }
    if (line.rfind("//", 0) == 0) continue;
    if (line.empty()) {
      contract = false;
      previous.clear();
      continue;
    }
    if (statement.empty()) start = number;
    statement += line + " ";
    if (!ends_statement(line)) continue;
    if (statement.find("Site at") != std::string::npos && statement.find("operator") == std::string::npos &&
        statement.find('(') != std::string::npos) {
      Declaration d{name_in(statement), file + ":" + std::to_string(start), false};
      documented = contract || (d.name == previous && documented);
      d.has_contract = documented;
      previous = d.name;
      found.push_back(d);
    }
    contract = false;
    statement.clear();
  }
  return found;
}

std::vector<Declaration> public_operations() {
  // The public headers are those that autograd/ops.h includes.
  std::set<std::string> public_headers;
  std::ifstream umbrella(std::filesystem::path(TANTU_SOURCE_DIR) / "autograd/ops.h");
  const std::string folder = "#include <tantu/autograd/ops/";
  for (std::string line; std::getline(umbrella, line);)
    if (line.starts_with(folder)) public_headers.insert(line.substr(folder.size(), line.size() - folder.size() - 1));
  std::vector<Declaration> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TANTU_SOURCE_DIR) / "autograd/ops")) {
    if (entry.path().extension() != ".h" || !public_headers.count(entry.path().filename())) continue;
    std::ifstream in(entry.path());
    for (Declaration& d : declarations(in, entry.path().filename())) all.push_back(std::move(d));
  }
  for (int r = 0; r < pointwise::kRows; ++r)
    all.push_back({pointwise::info(static_cast<pointwise::Row>(r)).name, "kernels/pointwise.def", true});
  return all;
}

std::set<std::string> names_in_table() {
  std::set<std::string> names;
  for (const optest::Row& row : optest::table()) {
    names.insert(row.name);
    for (const optest::Case& c : row.cases)
      if (c.inplace) names.insert(std::string(row.name) + "_");
  }
  return names;
}

}  // namespace

TEST_CASE("every public operation has a row in the op table") {
  const std::set<std::string> tested = names_in_table();
  const std::vector<Declaration> operations = public_operations();
  REQUIRE(operations.size() > 30);
  for (const Declaration& d : operations) {
    INFO(d.name << " (" << d.where << ") has no row in tests/ops/rows_*.cpp");
    CHECK(tested.count(d.name) == 1);
  }
}

TEST_CASE("every public operation has a contract right above its declaration") {
  for (const Declaration& d : public_operations()) {
    INFO(d.name << " (" << d.where << ") has no /// block");
    CHECK(d.has_contract);
  }
}

TEST_CASE("the header reader finds declarations, contracts and overloads, and nothing else") {
  std::istringstream text(R"(
#define X(name) \
  Tensor name(Site at);
/// What it does.
Tensor first(const Tensor& x, int64_t n,
             Site at = Site::here());
Tensor first(const Tensor& x, Site at = Site::here());
Tensor second(Site at = Site::here());

/// Not directly above.

Tensor third(Site at = Site::here());
struct Options {
  int n = 0;
};
/// With a default.
template <class T>
Tensor fourth(const std::vector<T>& v, const Options& options = {},
              Site at = Site::here());
Tensor helper(int x);
inline Tensor operator+(const Tensor& a, Site at);
)");
  const auto found = declarations(text, "x.h");
  REQUIRE(found.size() == 5);
  CHECK((found[0].name == "first" && found[0].has_contract && found[0].where == "x.h:5"));
  CHECK((found[1].name == "first" && found[1].has_contract));
  CHECK((found[2].name == "second" && !found[2].has_contract));
  CHECK((found[3].name == "third" && !found[3].has_contract));
  CHECK((found[4].name == "fourth" && found[4].has_contract));
}
