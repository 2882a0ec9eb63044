#include <tantu/core/thread_pool.h>
#include <tantu/kernels/cpu/gemm.h>
#include <tantu/tests/catch.h>

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

using namespace tantu;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

/// Where element (i, j) of a matrix lies: origin + i * rs + j * cs.
struct Layout {
  int64_t rs, cs;
};

/// A matrix in memory that is NaN wherever no element lies: what a product reads beside its operands shows.
template <class T>
struct Matrix {
  int64_t rows, cols, rs, cs, origin = 0;
  std::vector<T> memory;

  Matrix(int64_t rows_, int64_t cols_, Layout layout) : rows(rows_), cols(cols_), rs(layout.rs), cs(layout.cs) {
    int64_t low = 0, high = 0;
    for (const auto& [n, stride] : {std::pair{rows, rs}, std::pair{cols, cs}}) {
      const int64_t reach = n > 0 ? (n - 1) * stride : 0;
      (reach < 0 ? low : high) += reach;
    }
    origin = -low + 3;  // an address no vector is aligned to
    memory.assign(static_cast<size_t>(high - low + 7), static_cast<T>(kNan));
  }
  T* data() { return memory.data() + origin; }
  const T* data() const { return memory.data() + origin; }
  T& at(int64_t i, int64_t j) { return data()[i * rs + j * cs]; }
  T at(int64_t i, int64_t j) const { return data()[i * rs + j * cs]; }
  void fill(std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) at(i, j) = static_cast<T>(normal(random));
  }
};

const uint64_t kSeed = std::random_device()();
std::mt19937_64 fresh_random{kSeed};

template <class T>
void run(T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, Matrix<T>& c) {
  cpu::gemm<T>(a.rows, b.cols, a.cols, alpha, a.data(), a.rs, a.cs, b.data(), b.rs, b.cs, beta, c.data(), c.rs);
}

/// Empty if c is alpha a b + beta before to within the bound of its rounding errors and nothing beside it was written.
template <class T>
std::string fault(T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, const Matrix<T>& before,
                  const Matrix<T>& c) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const Wide eps = static_cast<Wide>(std::numeric_limits<T>::epsilon()) * static_cast<Wide>(a.cols + 4);
  std::vector<bool> written(c.memory.size(), false);
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.cols; ++j) {
      Wide sum = 0, size = 0;
      for (int64_t k = 0; k < a.cols; ++k) {
        const Wide product = static_cast<Wide>(a.at(i, k)) * static_cast<Wide>(b.at(k, j));
        sum += product;
        size += std::abs(product);
      }
      const Wide old = beta == 0 ? 0 : static_cast<Wide>(beta) * static_cast<Wide>(before.at(i, j));
      const Wide want = static_cast<Wide>(alpha) * sum + old;
      const Wide bound = eps * (std::abs(static_cast<Wide>(alpha)) * size + std::abs(old));
      if (!(std::abs(static_cast<Wide>(c.at(i, j)) - want) <= bound))
        return fmt::format("({}, {}) is {}, not {}", i, j, c.at(i, j), static_cast<double>(want));
      written[static_cast<size_t>(c.origin + i * c.rs + j)] = true;
    }
  for (size_t i = 0; i < c.memory.size(); ++i)
    if (!written[i] && std::memcmp(&c.memory[i], &before.memory[i], sizeof(T)) != 0)
      return "memory beside C was written";
  return "";
}

template <class T>
void check(int64_t M, int64_t N, int64_t K, T alpha, Layout a_layout, Layout b_layout, T beta, int64_t c_rs) {
  Matrix<T> a(M, K, a_layout), b(K, N, b_layout), c(M, N, {c_rs, 1});
  a.fill(fresh_random);
  b.fill(fresh_random);
  if (beta != 0) c.fill(fresh_random);
  const Matrix<T> before = c;
  run(alpha, a, b, beta, c);
  const std::string wrong = fault(alpha, a, b, beta, before, c);
  INFO(fmt::format("{} x {} x {}, strides of A {} {}, of B {} {}, of C {}, alpha {}, beta {}, {} threads, seed {}: {}",
                   M, N, K, a_layout.rs, a_layout.cs, b_layout.rs, b_layout.cs, c_rs, alpha, beta, get_num_threads(),
                   kSeed, wrong));
  REQUIRE(wrong.empty());
}

/// Row-major or its transpose, `pad` elements apart.
Layout layout(int64_t rows, int64_t cols, bool transposed, int64_t pad) {
  return transposed ? Layout{1, rows + pad} : Layout{cols + pad, 1};
}

struct Shape {
  int64_t M, N, K;
};

// One for each way through: single tile, ragged panels, several depths, several blocks of rows, several slices, few
// rows or columns along K and across, vectors, and large enough for parallel sections.
const std::vector<Shape> kWays = {{5, 6, 7},      {29, 70, 40},   {100, 130, 1100}, {1100, 40, 64}, {64, 600, 96},
                                  {3, 300, 700},  {300, 10, 700}, {1, 900, 800},    {900, 1, 800},  {1, 1, 5000},
                                  {17, 200, 200}, {200, 17, 200}, {1, 7, 3},        {7, 1, 3},      {256, 256, 256}};

struct RestoreThreads {
  int before = get_num_threads();
  ~RestoreThreads() { set_num_threads(before); }
};

}  // namespace

TEMPLATE_TEST_CASE("gemm: every edge size, all four transposes, NaN in a C that beta 0 does not read", "", float,
                   double) {
  const int64_t sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129};
  int turn = 0;
  for (int64_t M : sizes)
    for (int64_t N : sizes)
      for (int64_t K : sizes)
        for (int transposes = 0; transposes < 4; ++transposes, ++turn)
          check<TestType>(M, N, K, 1, layout(M, K, transposes & 1, turn % 3), layout(K, N, transposes & 2, turn % 5), 0,
                          N + turn % 2 * 5);
}

TEMPLATE_TEST_CASE("gemm: every way through, with alpha, beta and any strides", "", float, double) {
  const std::pair<double, double> factors[] = {{1, 1}, {0.5, -2}, {-1, 0}, {0, 1}, {3, 0.25}, {0, 0}};
  int turn = 0;
  for (const Shape& s : kWays)
    for (const auto& [alpha, beta] : factors) {
      const TestType al = static_cast<TestType>(alpha), be = static_cast<TestType>(beta);
      const Layout as[] = {layout(s.M, s.K, false, 0),
                           layout(s.M, s.K, true, 2),
                           {2 * s.K + 1, 2},
                           {-s.K, 1},
                           {3, 3 * s.M + 1},
                           {0, 1},
                           {1, -s.M},
                           {s.K, -1},
                           {1, 0}};
      const Layout bs[] = {layout(s.K, s.N, false, 3),
                           layout(s.K, s.N, true, 0),
                           {2, 2 * s.K + 1},
                           {1, -s.K},
                           {3 * s.N + 1, 3},
                           {0, 1},
                           {-s.N, 1},
                           {-1, s.K},
                           {1, 0}};
      for (size_t i = 0; i < 9; ++i, ++turn)
        check<TestType>(s.M, s.N, s.K, al, as[i], bs[static_cast<size_t>(turn) % 9], be, s.N + turn % 3);
    }
}

TEMPLATE_TEST_CASE("gemm: no elements, no depth", "", float, double) {
  std::vector<TestType> c = {1, static_cast<TestType>(kNan), 3, 4};
  const TestType* none = nullptr;
  cpu::gemm<TestType>(0, 4, 3, 1, none, 3, 1, none, 4, 1, 0, c.data(), 4);
  cpu::gemm<TestType>(4, 0, 3, 1, none, 3, 1, none, 4, 1, 0, c.data(), 4);
  CHECK(c[0] == 1);
  CHECK(std::isnan(c[1]));
  cpu::gemm<TestType>(2, 2, 0, 1, none, 0, 1, none, 2, 1, 2, c.data(), 2);
  CHECK(c[0] == 2);
  CHECK(std::isnan(c[1]));
  CHECK(c[2] == 6);
  CHECK(c[3] == 8);
  cpu::gemm<TestType>(2, 2, 0, 1, none, 0, 1, none, 2, 1, 0, c.data(), 2);
  for (TestType x : c) CHECK(x == 0);
}

TEMPLATE_TEST_CASE("gemm: NaN and infinity reach exactly the elements they should", "", float, double) {
  for (const Shape& s : kWays)
    for (const double special : {kNan, kInf})
      for (int transposes = 0; transposes < 4; ++transposes) {
        Matrix<TestType> a(s.M, s.K, layout(s.M, s.K, transposes & 1, 1)),
            b(s.K, s.N, layout(s.K, s.N, transposes & 2, 1));
        Matrix<TestType> c(s.M, s.N, {s.N, 1});
        for (int64_t i = 0; i < s.M; ++i)
          for (int64_t k = 0; k < s.K; ++k) a.at(i, k) = 1;
        for (int64_t k = 0; k < s.K; ++k)
          for (int64_t j = 0; j < s.N; ++j) b.at(k, j) = 1;
        const int64_t row = s.M / 2, col = s.N / 3, k = s.K - 1;
        a.at(row, k) = static_cast<TestType>(special);
        b.at(k, col) = 0;  // 0 * inf is NaN; elsewhere in the row the infinity stays
        run<TestType>(1, a, b, 0, c);
        int wrong = 0;
        for (int64_t i = 0; i < s.M; ++i)
          for (int64_t j = 0; j < s.N; ++j) {
            const TestType x = c.at(i, j);
            if (i != row) wrong += x != static_cast<TestType>(s.K - (j == col));
            else wrong += std::isnan(special) || j == col ? !std::isnan(x) : x != static_cast<TestType>(kInf);
          }
        CHECK(wrong == 0);
        run<TestType>(0, a, b, 0, c);
        CHECK(std::isnan(c.at(row, 0)));
        CHECK((s.M == 1 || c.at(row == 0 ? 1 : 0, 0) == 0));
      }
}

TEMPLATE_TEST_CASE("gemm: the same bits for 1, 2 and 3 threads, inside a section, and beside another caller", "", float,
                   double) {
  RestoreThreads restore;
  for (const Shape& s : kWays)
    for (int transposes = 0; transposes < 4; ++transposes) {
      Matrix<TestType> a(s.M, s.K, layout(s.M, s.K, transposes & 1, 0)),
          b(s.K, s.N, layout(s.K, s.N, transposes & 2, 0));
      Matrix<TestType> c(s.M, s.N, {s.N, 1});
      a.fill(fresh_random);
      b.fill(fresh_random);
      c.fill(fresh_random);
      const Matrix<TestType> before = c;
      const auto product = [&] {
        Matrix<TestType> out = before;
        run<TestType>(static_cast<TestType>(0.7), a, b, static_cast<TestType>(1.3), out);
        return out.memory;
      };
      set_num_threads(1);
      const std::vector<TestType> one = product();
      const auto same = [&](const std::vector<TestType>& x) {
        return std::memcmp(x.data(), one.data(), x.size() * sizeof(TestType)) == 0;
      };
      INFO("seed " << kSeed << ": " << s.M << " x " << s.N << " x " << s.K << ", transposes " << transposes);
      for (int threads : {2, 3, 8}) {
        set_num_threads(threads);
        CHECK(same(product()));
      }
      std::atomic<int> wrong{0};
      parallel_for(0, 3, 1, [&](int64_t, int64_t) { wrong.fetch_add(!same(product())); });
      std::thread other([&] { wrong.fetch_add(!same(product())); });
      wrong.fetch_add(!same(product()));
      other.join();
      CHECK(wrong.load() == 0);
    }
}
