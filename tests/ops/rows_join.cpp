#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

namespace tantu::optest {

namespace {

Array moved(const Array& x, const Shape& sizes, const std::function<Dims(const Dims&)>& f) {
  Array y(sizes);
  int64_t i = 0;
  for_each_index(sizes, [&](const Dims& at) { y[i++] = x.at(f(at)); });
  return y;
}

Dims with(Dims at, int d, int64_t value) {
  at[d] = value;
  return at;
}

Array joined(const std::vector<Array>& parts, int d) {
  Shape sizes = parts[0].sizes;
  sizes[d] = 0;
  for (const Array& p : parts) sizes[d] += p.sizes[d];
  Array y(sizes);
  int64_t i = 0;
  for_each_index(sizes, [&](const Dims& at) {
    size_t part = 0;
    int64_t position = at[d];
    while (position >= parts[part].sizes[d]) position -= parts[part++].sizes[d];
    y[i++] = parts[part].at(with(at, d, position));
  });
  return y;
}

int64_t modulo(int64_t a, int64_t n) {
  return ((a % n) + n) % n;
}

Array triangle(const Array& x, int64_t diagonal, bool lower) {
  Array y = x;
  int64_t i = 0;
  for_each_index(x.sizes, [&](const Dims& at) {
    const int64_t above = at[at.size() - 1] - at[at.size() - 2];
    if (lower ? above > diagonal : above < diagonal) y[i] = 0;
    ++i;
  });
  return y;
}

// x as seen from outside: `place` maps a position of one padded dimension, counted from x's first element, to x's or to
// -1.
Array padded(const Array& x, const std::vector<int64_t>& pads, double value,
             const std::function<int64_t(int64_t, int64_t)>& place) {
  Shape sizes = x.sizes;
  const auto before = [&](int d) {
    const size_t i = 2 * static_cast<size_t>(x.rank() - 1 - d);
    return i < pads.size() ? pads[i] : 0;
  };
  for (int d = 0; d < x.rank(); ++d) {
    const size_t i = 2 * static_cast<size_t>(x.rank() - 1 - d);
    if (i < pads.size()) sizes[d] += pads[i] + pads[i + 1];
  }
  Array y(sizes, value);
  int64_t i = 0;
  for_each_index(sizes, [&](const Dims& at) {
    Dims from = at;
    bool inside = true;
    for (int d = 0; d < x.rank(); ++d) {
      from[d] = place(at[d] - before(d), x.sizes[d]);
      inside &= from[d] >= 0 && from[d] < x.sizes[d];
    }
    if (inside) y[i] = x.at(from);
    ++i;
  });
  return y;
}

int64_t same(int64_t i, int64_t) {
  return i;
}
int64_t mirrored(int64_t i, int64_t n) {
  return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
}
int64_t nearest(int64_t i, int64_t n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

Row moves(const char* name, std::vector<Case> cases, std::vector<ErrorCase> errors = {}) {
  return {.name = name,
          .cases = std::move(cases),
          .dtypes = kAllTypes,
          .growth = kExact,
          .gradient = 2,
          .errors = std::move(errors)};
}

Tensor made(Device d, const Shape& sizes, DType t = kFloat32) {
  return zeros(sizes, {.dtype = t, .device = d});
}

const Rows rows({
    moves("cat",
          {{.inputs = {real({2, kN, 3}), real({2, 1, 3}), real({2, kS, 3})},
            .call =
                [](const Args& a) {
                  return cat({a[0], a[1], a[2], a[1]}, 1);
                },
            .reference =
                [](const Refs& r) {
                  return joined({r[0], r[1], r[2], r[1]}, 1);
                }},
           {.inputs = {real({kN, 3}), real({2, 3})},
            .call =
                [](const Args& a) {
                  return cat({a[0], a[1]});
                },
            .reference =
                [](const Refs& r) {
                  return joined({r[0], r[1]}, 0);
                }},
           {.inputs = {real({kN, 3}), real({0})},
            .call =
                [](const Args& a) {
                  return cat({a[1], a[0]}, -1);
                },
            .reference = [](const Refs& r) { return r[0]; },
            .note = "an empty vector is skipped"}},
          {{"none", [](Device) { cat({}); }, "cat: expected a non-empty list of Tensors"},
           {"sizes",
            [](Device d) {
              cat({made(d, {2, 3}), made(d, {2, 4})});
            },
            "cat: Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number "
            "1 in the list."},
           {"ranks",
            [](Device d) {
              cat({made(d, {2, 3}), made(d, {3})});
            },
            "cat: Tensors must have same number of dimensions: got 2 and 1"},
           {"0-dim",
            [](Device d) {
              cat({made(d, {2}), made(d, {})});
            },
            "cat: zero-dimensional tensor (at position 1) cannot be concatenated"},
           {"dim",
            [](Device d) {
              cat({made(d, {2}), made(d, {2})}, 1);
            },
            "cat: Dimension out of range"}}),
    moves("stack",
          {{.inputs = {real({kN, 3}), real({kN, 3}), real({kN, 3})},
            .call =
                [](const Args& a) {
                  return stack({a[0], a[1], a[2]}, 1);
                },
            .reference =
                [](const Refs& r) {
                  Array y({r.n, 3, 3});
                  int64_t i = 0;
                  for_each_index(y.sizes, [&](const Dims& at) {
                    y[i++] = r[static_cast<size_t>(at[1])].at({at[0], at[2]});
                  });
                  return y;
                }},
           {.inputs = {real({}), real({})},
            .call =
                [](const Args& a) {
                  return stack({a[0], a[1]}, -1);
                },
            .reference =
                [](const Refs& r) {
                  Array y({2});
                  y[0] = r[0][0];
                  y[1] = r[1][0];
                  return y;
                }}},
          {{"none", [](Device) { stack({}); }, "stack: expects a non-empty TensorList"},
           {"sizes",
            [](Device d) {
              stack({made(d, {2, 3}), made(d, {3})});
            },
            "stack: expects each tensor to be equal size, but got [2, 3] at entry 0 and [3] at entry 1"}}),
    moves("repeat",
          {{.inputs = {real({kN, 3})},
            .call =
                [](const Args& a) {
                  return repeat(a[0], {2, 3, 1});
                },
            .reference =
                [](const Refs& r) {
                  return moved(r[0], {2, 3 * r.n, 3}, [&](const Dims& at) { return Dims{at[1] % r.n, at[2]}; });
                }},
           {.inputs = {real({kN, 2})},
            .call =
                [](const Args& a) {
                  return repeat(a[0], {0, 2});
                },
            .reference =
                [](const Refs&) {
                  return Array({0, 4});
                }},
           {.inputs = {real({1, 2, 1, 2, 1, 2, 1, 2})},
            .call =
                [](const Args& a) {
                  return repeat(a[0], {1, 2, 2, 2, 1, 2, 2, 2});
                },
            .reference =
                [](const Refs& r) {
                  return moved(r[0], {1, 4, 2, 4, 1, 4, 2, 4}, [](Dims at) {
                    for (int64_t& i : at) i %= 2;
                    return at;
                  });
                },
            .note = "more than twelve dimensions on the way"}},
          {{"few",
            [](Device d) {
              repeat(made(d, {2, 3}), {2});
            },
            "repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"},
           {"negative",
            [](Device d) {
              repeat(made(d, {2, 3}), {1, -1});
            },
            "repeat: Trying to create tensor with negative dimension -3"}}),
    moves("flip",
          {{.inputs = {real({kN, 3, kS})},
            .call =
                [](const Args& a) {
                  return flip(a[0], {0, -1});
                },
            .reference =
                [](const Refs& r) {
                  return moved(r[0], r[0].sizes, [&](const Dims& at) {
                    return Dims{r.n - 1 - at[0], at[1], r.s - 1 - at[2]};
                  });
                }},
           {.inputs = {real({kN, 3})},
            .call = [](const Args& a) { return flip(a[0], {}); },
            .reference = [](const Refs& r) { return r[0]; }}},
          {{"twice",
            [](Device d) {
              flip(made(d, {2, 3}), {0, -2});
            },
            "flip: dim 0 appears multiple times in the list of dims"},
           {"dim",
            [](Device d) {
              flip(made(d, {2, 3}), {2});
            },
            "flip: Dimension out of range"}}),
    moves("roll",
          {{.inputs = {real({kN, 4})},
            .call =
                [](const Args& a) {
                  return roll(a[0], {2, -5}, {0, 1});
                },
            .reference =
                [](const Refs& r) {
                  return moved(r[0], r[0].sizes, [&](const Dims& at) {
                    return Dims{modulo(at[0] - 2, r.n), modulo(at[1] + 5, 4)};
                  });
                }},
           {.inputs = {real({kN, 4})},
            .call = [](const Args& a) { return roll(a[0], {3}); },
            .reference =
                [](const Refs& r) {
                  Array y = r[0];
                  for (int64_t i = 0; i < y.numel(); ++i) y[i] = r[0][modulo(i - 3, y.numel())];
                  return y;
                }}},
          {{"count",
            [](Device d) {
              roll(made(d, {2, 3}), {1, 2}, {0});
            },
            "roll: shifts and dimensions must align. shifts: 2, dims:1"}}),
    moves("tril",
          {{.inputs = {real({kN, 4})},
            .call = [](const Args& a) { return tril(a[0]); },
            .reference = [](const Refs& r) { return triangle(r[0], 0, true); }},
           {.inputs = {real({2, 5, kN})},
            .call = [](const Args& a) { return tril(a[0], -2); },
            .reference = [](const Refs& r) { return triangle(r[0], -2, true); }}},
          {{"rank", [](Device d) { tril(made(d, {3})); }, "tril: input tensor must have at least 2 dimensions"}}),
    moves("triu",
          {{.inputs = {real({kN, 4})},
            .call = [](const Args& a) { return triu(a[0], 1); },
            .reference = [](const Refs& r) { return triangle(r[0], 1, false); }},
           {.inputs = {real({2, 5, kN})},
            .call = [](const Args& a) { return triu(a[0], std::numeric_limits<int64_t>::min()); },
            .reference = [](const Refs& r) { return r[0]; }}},
          {{"rank", [](Device d) { triu(made(d, {})); }, "triu: input tensor must have at least 2 dimensions"}}),
    moves("pad",
          {{.inputs = {real({2, kN, 4})},
            .call =
                [](const Args& a) {
                  return pad(a[0], {-1, 2, 1, 0}, "constant", 2);
                },
            .reference =
                [](const Refs& r) {
                  return padded(r[0], {-1, 2, 1, 0}, r.dtype == kBool ? 1 : 2, same);
                }},
           {.inputs = {real({kN, 5})},
            .call =
                [](const Args& a) {
                  return pad(a[0], {4, 2}, "reflect");
                },
            .reference =
                [](const Refs& r) {
                  return padded(r[0], {4, 2}, 0, mirrored);
                }},
           {.inputs = {real({kS, 3, 4})},
            .call =
                [](const Args& a) {
                  return pad(a[0], {6, 1, 2, 5}, "replicate");
                },
            .reference =
                [](const Refs& r) {
                  return padded(r[0], {6, 1, 2, 5}, 0, nearest);
                }},
           {.inputs = {real({kS, 3, 4})},
            .call =
                [](const Args& a) {
                  return pad(a[0], {4, 1, 1, 3}, "circular");
                },
            .reference =
                [](const Refs& r) {
                  return padded(r[0], {4, 1, 1, 3}, 0, modulo);
                }},
           {.inputs = {real({kS, 4})},
            .call =
                [](const Args& a) {
                  return pad(a[0], {-1, 2}, "circular");
                },
            .reference =
                [](const Refs& r) {
                  return padded(r[0], {-1, 2}, 0, [](int64_t i, int64_t n) { return i < n ? i : i - n + 1; });
                },
            .note = "what is cut first does not come round"}},
          {{"odd", [](Device d) { pad(made(d, {3}), {1}); }, "pad: Padding length must be divisible by 2"},
           {"many", [](Device d) { pad(made(d, {3}), {1, 1, 1, 1}); },
            "pad: Padding length should be less than or equal to two times the input dimension but got padding length "
            "4 and input of dimension 1"},
           {"cut", [](Device d) { pad(made(d, {3}), {-2, -2}); },
            "pad: The input size 3, plus negative padding -2 and -2 resulted in a negative output size"},
           {"reflect", [](Device d) { pad(made(d, {2, 3}), {3, 0}, "reflect"); },
            "pad: Padding size should be less than the corresponding input dimension, but got: padding (3, 0) at "
            "dimension 1 of input [2, 3]"},
           {"circular", [](Device d) { pad(made(d, {2, 3}), {4, 0}, "circular"); },
            "pad: Padding value causes wrapping around more than once"},
           {"one dimension", [](Device d) { pad(made(d, {3}), {1, 1}, "replicate"); },
            "pad: Padding size 2 is not supported for 1D input tensor"},
           {"no dimension left", [](Device d) { pad(made(d, {2, 3}), {1, 1, 1, 1}, "circular"); },
            "pad: Padding size 4 is not supported for 2D input tensor"},
           {"to nothing", [](Device d) { pad(made(d, {2, 4}), {-2, -2}, "replicate"); },
            "pad: input [2, 4] is too small"},
           {"value", [](Device d) { pad(made(d, {2, 4}), {1, 1}, "reflect", 3); },
            "pad: Padding mode \"reflect\" doesn't take in value argument"},
           {"value too large", [](Device d) { pad(made(d, {2}), {1, 1}, "constant", 1e39); },
            "pad: value cannot be converted to type float32 without overflow"},
           {"mode", [](Device d) { pad(made(d, {2, 3}), {1, 0}, "edge"); }, "pad: Unrecognised padding mode edge"}}),
});

}  // namespace

}  // namespace tantu::optest
