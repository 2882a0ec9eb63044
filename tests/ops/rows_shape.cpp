#include <tantu/autograd/ops.h>
#include <tantu/autograd/ops/view_of.h>
#include <tantu/tests/ops/op_table.h>

namespace tantu::optest {

namespace {

// An array of shape `sizes` whose element at an index is x's at f(index).
Array moved(const Array& x, const Shape& sizes, const std::function<Dims(const Dims&)>& f) {
  Array y(sizes);
  int64_t i = 0;
  for_each_index(sizes, [&](const Dims& at) { y[i++] = x.at(f(at)); });
  return y;
}

Array reshaped(const Array& x, const Shape& sizes) {
  Array y = x;
  y.sizes = sizes;
  return y;
}

Shape with(Shape sizes, int d, int64_t size) {
  sizes[d] = size;
  return sizes;
}

// Positions start, start + step, … of dimension d.
Array strip(const Array& x, int d, int64_t start, int64_t count, int64_t step = 1) {
  return moved(x, with(x.sizes, d, count), [&](const Dims& at) { return with(at, d, start + at[d] * step); });
}

Array dropped(Array x, int d) {
  x.sizes.erase(d);
  return x;
}

Array permuted(const Array& x, const Dims& dims) {
  Shape sizes;
  for (int64_t d : dims) sizes.push_back(x.sizes[static_cast<int>(d)]);
  return moved(x, sizes, [&](const Dims& at) {
    Dims from = at;
    for (int i = 0; i < dims.size(); ++i) from[static_cast<int>(dims[i])] = at[i];
    return from;
  });
}

std::vector<Array> pieces(const Array& x, int d, const std::vector<int64_t>& sizes) {
  std::vector<Array> list;
  int64_t start = 0;
  for (int64_t size : sizes) {
    list.push_back(strip(x, d, start, size));
    start += size;
  }
  return list;
}

// What a strided picture of a contiguous array shows.
Array strided(const Array& x, const Shape& sizes, const Strides& strides, int64_t offset) {
  Array y(sizes);
  int64_t i = 0;
  for_each_index(sizes, [&](const Dims& at) {
    int64_t place = offset;
    for (int d = 0; d < at.size(); ++d) place += at[d] * strides[d];
    y[i++] = x[place];
  });
  return y;
}

Array unstrided(const Array& g, const Shape& base, const Strides& strides, int64_t offset) {
  Array y(base);
  int64_t i = 0;
  for_each_index(g.sizes, [&](const Dims& at) {
    int64_t place = offset;
    for (int d = 0; d < at.size(); ++d) place += at[d] * strides[d];
    y[place] += g[i++];
  });
  return y;
}

using Row = optest::Row;

Row moves(const char* name, std::vector<Case> cases, std::vector<ErrorCase> errors = {}) {
  return {.name = name,
          .cases = std::move(cases),
          .dtypes = kAllTypes,
          .growth = kExact,
          .gradient = 2,
          .errors = std::move(errors)};
}

Tensor made(Device d, const Shape& sizes) {
  return zeros(sizes, {.device = d});
}

const Rows sizes_rows({
    moves("view",
          {{.inputs = {real({2, kN, 6})},
            .call =
                [](const Args& a) {
                  return view(a[0].contiguous(), {2, a.n, 3, 2});
                },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {2, r.n, 3, 2});
                }},
           {.inputs = {real({1, 3, 1})},
            .call =
                [](const Args& a) {
                  return view(a[0], {1, 1, -1});
                },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {1, 1, 3});
                }}},
          {{"strides",
            [](Device d) {
              view(transpose(made(d, {2, 3}), 0, 1), {6});
            },
            "view: view size is not compatible with input tensor's size and stride"},
           {"sizes",
            [](Device d) {
              view(made(d, {2, 3}), {4});
            },
            "view: shape '[4]' is invalid for input of size 6"},
           {"two -1",
            [](Device d) {
              view(made(d, {2, 3}), {-1, -1});
            },
            "view: only one dimension can be inferred"},
           {"-2",
            [](Device d) {
              view(made(d, {2, 3}), {-2, 3});
            },
            "view: invalid shape dimension -2"},
           {"-1 of nothing",
            [](Device d) {
              view(made(d, {0, 3}), {0, -1});
            },
            "view: cannot reshape tensor of 0 elements into shape [0, -1] because the unspecified dimension size -1 "
            "can be any value"}}),
    moves("reshape",
          {{.inputs = {real({2, kN, 6})},
            .call =
                [](const Args& a) {
                  return reshape(a[0], {a.n, 4, 3});
                },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {r.n, 4, 3});
                }},
           {.inputs = {real({kN, 4})},
            .call =
                [](const Args& a) {
                  return reshape(transpose(a[0], 0, 1), {2, -1, 2, std::max<int64_t>(1, a.n)});
                },
            .reference =
                [](const Refs& r) {
                  return reshaped(permuted(r[0], {1, 0}), {2, r.n == 0 ? 0 : 1, 2, std::max<int64_t>(1, r.n)});
                }},
           {.inputs = {real({})},
            .call =
                [](const Args& a) {
                  return reshape(a[0], {1, 1});
                },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {1, 1});
                }}},
          {{"sizes",
            [](Device d) {
              reshape(made(d, {2, 3}), {5, -1});
            },
            "reshape: shape '[5, -1]' is invalid for input of size 6"}}),
    moves("flatten",
          {{.inputs = {real({2, kN, 3, kS})},
            .call = [](const Args& a) { return flatten(a[0], 1, -2); },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {2, r.n * 3, r.s});
                }},
           {.inputs = {real({})},
            .call = [](const Args& a) { return flatten(a[0]); },
            .reference = [](const Refs& r) { return reshaped(r[0], {1}); }}},
          {{"order",
            [](Device d) {
              flatten(made(d, {2, 3}), 1, 0);
            },
            "flatten: start_dim cannot come after end_dim"}}),
    moves("unflatten",
          {{.inputs = {real({kN, 6, 2})},
            .call =
                [](const Args& a) {
                  return unflatten(a[0], -2, {-1, 3});
                },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {r.n, 2, 3, 2});
                }}},
          {{"sizes",
            [](Device d) {
              unflatten(made(d, {2, 3}), 1, {2, 2});
            },
            "unflatten: shape '[2, 2]' is invalid for input of size 3"}}),
    moves("transpose",
          {{.inputs = {real({kN, 3, kS})},
            .call = [](const Args& a) { return transpose(a[0], 0, -1); },
            .reference =
                [](const Refs& r) {
                  return permuted(r[0], {2, 1, 0});
                }},
           {.inputs = {real({})},
            .call = [](const Args& a) { return transpose(a[0], 0, -1); },
            .reference = [](const Refs& r) { return r[0]; }}},
          {{"dim",
            [](Device d) {
              transpose(made(d, {2, 3}), 0, 2);
            },
            "transpose: Dimension out of range (expected to be in range of [-2, 1], but got 2)"}}),
    moves("permute",
          {{.inputs = {real({kN, 3, kS, 2})},
            .call =
                [](const Args& a) {
                  return permute(a[0], {2, 0, -1, 1});
                },
            .reference =
                [](const Refs& r) {
                  return permuted(r[0], {2, 0, 3, 1});
                }}},
          {{"count",
            [](Device d) {
              permute(made(d, {2, 3}), {0});
            },
            "permute: number of dimensions in the tensor input does not match the length"},
           {"twice",
            [](Device d) {
              permute(made(d, {2, 3}), {0, -2});
            },
            "permute: duplicate dims are not allowed"}}),
    moves("movedim",
          {{.inputs = {real({kN, 3, kS, 2})},
            .call =
                [](const Args& a) {
                  return movedim(a[0], {0, 3}, {-1, 0});
                },
            .reference =
                [](const Refs& r) {
                  return permuted(r[0], {3, 1, 2, 0});
                }}},
          {{"count",
            [](Device d) {
              movedim(made(d, {2, 3}), {0, 1}, {0});
            },
            "movedim: Invalid source or destination dims"},
           {"twice",
            [](Device d) {
              movedim(made(d, {2, 3}), {0, 0}, {0, 1});
            },
            "movedim: repeated dim in `source`"}}),
    moves("expand",
          {{.inputs = {real({kN, 1, 2})},
            .call =
                [](const Args& a) {
                  return expand(a[0], {3, -1, 4, 2});
                },
            .reference =
                [](const Refs& r) {
                  return moved(r[0], {3, r.n, 4, 2}, [](const Dims& at) { return Dims{at[1], 0, at[3]}; });
                }},
           {.inputs = {real({1})},
            .call =
                [](const Args& a) {
                  return expand(a[0], {2, 0});
                },
            .reference =
                [](const Refs&) {
                  return Array({2, 0});
                }}},
          {{"size",
            [](Device d) {
              expand(made(d, {2, 3}), {2, 4});
            },
            "expand: The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension "
            "1. Target sizes: [2, 4]. Tensor sizes: [2, 3]"},
           {"rank",
            [](Device d) {
              expand(made(d, {2, 3}), {3});
            },
            "expand: the number of sizes provided (1) must be greater or equal to the number of dimensions in the "
            "tensor (2)"},
           {"lead",
            [](Device d) {
              expand(made(d, {2}), {-1, 2});
            },
            "expand: The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0"}}),
    moves("squeeze",
          {{.inputs = {real({1, kN, 1, 3})},
            .call = [](const Args& a) { return squeeze(a[0]); },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], r.n == 1 ? Shape{3} : Shape{r.n, 3});
                }},
           {.inputs = {real({1, kN, 1, 3})},
            .call = [](const Args& a) { return squeeze(a[0], -2); },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {1, r.n, 3});
                }},
           {.inputs = {real({kN, 3})},
            .call = [](const Args& a) { return squeeze(a[0], 1); },
            .reference = [](const Refs& r) { return r[0]; }}},
          {{"dim", [](Device d) { squeeze(made(d, {2}), 1); }, "squeeze: Dimension out of range"}}),
    moves("unsqueeze",
          {{.inputs = {real({kN, 3})},
            .call = [](const Args& a) { return unsqueeze(a[0], 1); },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {r.n, 1, 3});
                }},
           {.inputs = {real({kN, 3})},
            .call = [](const Args& a) { return unsqueeze(a[0], -1); },
            .reference =
                [](const Refs& r) {
                  return reshaped(r[0], {r.n, 3, 1});
                }},
           {.inputs = {real({})},
            .call = [](const Args& a) { return unsqueeze(a[0], 0); },
            .reference = [](const Refs& r) { return reshaped(r[0], {1}); }}},
          {{"dim", [](Device d) { unsqueeze(made(d, {2}), 2); },
            "unsqueeze: Dimension out of range (expected to be in range of [-2, 1], but got 2)"}}),
});

const Rows part_rows({
    moves("slice",
          {{.inputs = {real({kN, 9})},
            .call = [](const Args& a) { return slice(a[0], 1, 1, -1, 3); },
            .reference = [](const Refs& r) { return strip(r[0], 1, 1, 3, 3); }},
           {.inputs = {real({kN, 2})},
            .call = [](const Args& a) { return slice(a[0], 0, -5, int64_t{1} << 40, 2); },
            .reference =
                [](const Refs& r) {
                  const int64_t first = std::max<int64_t>(0, r.n - 5);
                  return strip(r[0], 0, first, (r.n - first + 1) / 2, 2);
                }},
           {.inputs = {real({3, kN})},
            .call = [](const Args& a) { return slice(a[0], 0, 2, 1); },
            .reference =
                [](const Refs& r) {
                  return Array({0, r.n});
                }},
           {.inputs = {real({3, kN})},
            .call = [](const Args& a) { return slice(a[0], 0, 1, {}, int64_t{1} << 62); },
            .reference = [](const Refs& r) { return strip(r[0], 0, 1, 1); }}},
          {{"step", [](Device d) { slice(made(d, {3}), 0, 0, 3, 0); }, "slice: step must be positive, but got 0"},
           {"0-dim", [](Device d) { slice(made(d, {}), 0, 0, 3); }, "slice: cannot be applied to a 0-dim tensor"}}),
    moves("narrow",
          {{.inputs = {real({kN, 5})},
            .call = [](const Args& a) { return narrow(a[0], -1, -3, 2); },
            .reference = [](const Refs& r) { return strip(r[0], 1, 2, 2); }},
           {.inputs = {real({kN, 5})},
            .call = [](const Args& a) { return narrow(a[0], 0, a.n, 0); },
            .reference =
                [](const Refs&) {
                  return Array({0, 5});
                }}},
          {{"range",
            [](Device d) {
              narrow(made(d, {2, 3}), 1, 3, 1);
            },
            "narrow: start (3) + length (1) exceeds dimension size (3)"},
           {"start",
            [](Device d) {
              narrow(made(d, {2, 3}), 1, -4, 1);
            },
            "narrow: start out of range (expected to be in range of [-3, 3], but got -4)"},
           {"length",
            [](Device d) {
              narrow(made(d, {2, 3}), 1, 0, -1);
            },
            "narrow: length must be non-negative"}}),
    moves("select",
          {{.inputs = {real({kN, 3, 2})},
            .call = [](const Args& a) { return select(a[0], 1, -1); },
            .reference = [](const Refs& r) { return dropped(strip(r[0], 1, 2, 1), 1); }},
           {.inputs = {real({4})},
            .call = [](const Args& a) { return a[0][1]; },
            .reference = [](const Refs& r) { return dropped(strip(r[0], 0, 1, 1), 0); }}},
          {{"range",
            [](Device d) {
              select(made(d, {2, 3}), 1, 3);
            },
            "select: index 3 is out of bounds for dimension 1 with size 3"},
           {"0-dim", [](Device d) { select(made(d, {}), 0, 0); }, "select: cannot be applied to a 0-dim tensor"}}),
    moves("diagonal",
          {{.inputs = {real({kN, 5})},
            .call = [](const Args& a) { return diagonal(a[0], 1); },
            .reference =
                [](const Refs& r) {
                  return moved(r[0], {std::min<int64_t>(r.n, 4)}, [](const Dims& at) {
                    return Dims{at[0], at[0] + 1};
                  });
                }},
           {.inputs = {real({5, 2, kN})},
            .call = [](const Args& a) { return diagonal(a[0], -2, -1, 0); },
            .reference =
                [](const Refs& r) {
                  return moved(r[0], {2, std::max<int64_t>(0, std::min<int64_t>(r.n - 2, 5))}, [](const Dims& at) {
                    return Dims{at[1], at[0], at[1] + 2};
                  });
                }}},
          {{"same",
            [](Device d) {
              diagonal(made(d, {2, 3}), 0, 1, -1);
            },
            "diagonal: diagonal dimensions cannot be identical 1, -1"}}),
    moves("split",
          {{.inputs = {real({kS, 7})},
            .call = [](const Args& a) { return split(a[0], 3, 1); },
            .reference =
                [](const Refs& r) {
                  return pieces(r[0], 1, {3, 3, 1});
                }},
           {.inputs = {real({kS, 0})},
            .call = [](const Args& a) { return split(a[0], 3, 1); },
            .reference = [](const Refs& r) { return pieces(r[0], 1, {0}); }}},
          {{"negative", [](Device d) { split(made(d, {2}), -1); },
            "split: expects split_size be non-negative, but got split_size=-1"},
           {"zero", [](Device d) { split(made(d, {2}), 0); },
            "split: split_size can only be 0 if dimension size is 0, but got dimension size of 2"}}),
    moves("split_with_sizes",
          {{.inputs = {real({7, kN})},
            .call =
                [](const Args& a) {
                  return split_with_sizes(a[0], {2, 0, 5});
                },
            .reference =
                [](const Refs& r) {
                  return pieces(r[0], 0, {2, 0, 5});
                }}},
          {{"sum",
            [](Device d) {
              split_with_sizes(made(d, {3}), {1, 1});
            },
            "split_with_sizes: expects split_sizes to sum exactly to 3"},
           {"negative",
            [](Device d) {
              split_with_sizes(made(d, {3}), {-1, 4});
            },
            "split_with_sizes: expects split_sizes have only non-negative entries"}}),
    moves("chunk",
          {{.inputs = {real({kN, 7})},
            .call = [](const Args& a) { return chunk(a[0], 3, -1); },
            .reference =
                [](const Refs& r) {
                  return pieces(r[0], 1, {3, 3, 1});
                }},
           {.inputs = {real({kN, 2})},
            .call = [](const Args& a) { return chunk(a[0], 5, 1); },
            .reference =
                [](const Refs& r) {
                  return pieces(r[0], 1, {1, 1});
                }},
           {.inputs = {real({kN, 0})},
            .call = [](const Args& a) { return chunk(a[0], 3, 1); },
            .reference =
                [](const Refs& r) {
                  return pieces(r[0], 1, {0, 0, 0});
                }}},
          {{"none", [](Device d) { chunk(made(d, {2}), 0); }, "chunk: expects `chunks` to be greater than 0, got: 0"}}),
    moves("unbind",
          {{.inputs = {real({kN, 2})},
            .call = [](const Args& a) { return unbind(a[0], -1); },
            .reference =
                [](const Refs& r) {
                  return Arrays({dropped(strip(r[0], 1, 0, 1), 1), dropped(strip(r[0], 1, 1, 1), 1)});
                }}},
          {{"0-dim", [](Device d) { unbind(made(d, {})); }, "unbind: cannot be applied to a 0-dim tensor"}}),
    {.name = "as_strided",
     .cases = {{.inputs = {real({12})},
                .call =
                    [](const Args& a) {
                      return as_strided(a[0].contiguous(), {3, 4}, {2, 1},
                                        a[0].is_contiguous() ? a[0].storage_offset() + 1 : 1);
                    },
                .reference =
                    [](const Refs& r) {
                      return strided(r[0], {3, 4}, {2, 1}, 1);
                    },
                .note = "windows that overlap"},
               {.inputs = {real({4, 3})},
                .call =
                    [](const Args& a) {
                      return as_strided(a[0].contiguous(), {2, 0, 3}, {3, 5, 1}, 0);
                    },
                .reference =
                    [](const Refs&) {
                      return Array({2, 0, 3});
                    }},
               {.inputs = {real({4, 3})},
                .call =
                    [](const Args& a) {
                      return as_strided(a[0] + zeros_like(a[0]), {2, 3, 2, 2}, {0, 4, 1, 2}, 0);
                    },
                .reference =
                    [](const Refs& r) {
                      return strided(r[0], {2, 3, 2, 2}, {0, 4, 1, 2}, 0);
                    },
                .note = "repeated and overlapping"}},
     .dtypes = kNumberTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"outside", [](Device d) { as_strided(made(d, {4}), {2, 3}, {2, 1}, 0); },
                 "are out of bounds for storage of 4 elements"},
                {"negative", [](Device d) { as_strided(made(d, {4}), {2}, {-1}, 1); },
                 "as_strided: negative strides are not supported at the moment, got strides: [-1]"},
                {"overflow",
                 [](Device d) { as_strided(made(d, {4}), {2, 2}, {int64_t{1} << 62, int64_t{1} << 62}, 0); },
                 "as_strided: sizes [2, 2] and strides"},
                {"length", [](Device d) { as_strided(made(d, {4}), {2}, {1, 1}, 0); },
                 "as_strided: mismatch in length of strides and shape"}}},
    {.name = "as_strided_backward",
     .cases = {{.inputs = {real({3, 4})},
                .call =
                    [](const Args& a) {
                      return as_strided_backward(a[0], {2, 6}, {6, 1}, 0, {3, 4}, {2, 1}, 1);
                    },
                .reference =
                    [](const Refs& r) {
                      return unstrided(r[0], {2, 6}, {2, 1}, 1);
                    },
                .note = "windows that overlap"},
               {.inputs = {real({2, 3, 2})},
                .call =
                    [](const Args& a) {
                      return as_strided_backward(a[0], {4}, {1}, 3, {2, 3, 2}, {0, 1, 3}, 3);
                    },
                .reference =
                    [](const Refs& r) {
                      const Array all = unstrided(r[0], {6}, {0, 1, 3}, 0);
                      return strip(all, 0, 0, 4);
                    },
                .note = "a picture that goes beyond its base"},
               {.inputs = {real({4})},
                .call =
                    [](const Args& a) {
                      return as_strided_backward(a[0], {3, 4}, {0, 1}, 0, {4}, {1}, 0);
                    },
                .reference =
                    [](const Refs& r) {
                      return moved(map(r[0], [](double v) { return v / 3; }), {3, 4},
                                   [](const Dims& at) { return Dims{at[1]}; });
                    },
                .note = "a base that repeats its elements"}},
     .growth = kComposed,
     .gradient = 2},
});

}  // namespace

}  // namespace tantu::optest
