#include <tantu/tests/catch.h>

#include <tantu/autograd/autograd.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/trace.h>

#include <cstring>

using namespace tantu;

namespace {

struct Seen {
  int line = 0, count = 0;
};

// The lines of the events of one operation.
void note(const trace::Event& event, void* context) {
  if (event.kind != trace::Kind::Op || std::strcmp(event.name, "exp") != 0) return;
  auto& seen = *static_cast<Seen*>(context);
  seen.line = event.site.line;
  ++seen.count;
}

}  // namespace

TEST_CASE("anomaly mode names the forward line of the operation that made a NaN") {
  Tensor x = tensor({0.0, 1.0}, {.requires_grad = true});
  const Tensor y = x * 0;
  const int line = __LINE__ + 1;
  const Tensor z = sqrt(y);
  const Tensor loss = (z * 0).sum();
  {
    AnomalyMode anomaly;
    CHECK_THROWS_AS(loss.backward({}, true), AutogradError);
    CHECK_THROWS_WITH(loss.backward({}, true),
                      Catch::Contains("Function 'SqrtBackward0' returned nan values in its 0th output") &&
                          Catch::Contains("anomaly_test.cpp:" + std::to_string(line)));
    AnomalyMode off(false);
    CHECK_NOTHROW(loss.backward({}, true));
  }
  CHECK_NOTHROW(loss.backward());
}

TEST_CASE("anomaly mode passes what is finite, and does not look at gradients nobody asked for") {
  AnomalyMode anomaly;
  Tensor x = tensor({0.0, 1.0}, {.requires_grad = true});
  (x * x).sum().backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{0, 2});
}

TEST_CASE("gradients carry the line of their forward operation") {
  Tensor x = tensor({0.5}, {.requires_grad = true});
  const int forward = __LINE__ + 1;
  const Tensor y = exp(x);
  Seen seen;
  trace::set_sink(note, &seen);
  y.backward();
  trace::set_sink(nullptr);
  CHECK(seen.count == 1);
  CHECK(seen.line == forward);
}
