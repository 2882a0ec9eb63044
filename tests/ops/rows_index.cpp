#include <tantu/autograd/ops.h>
#include <tantu/tests/ops/op_table.h>

#include <cmath>

namespace tantu::optest {

namespace {

int64_t position(const Array& index, const Dims& at) {
  return static_cast<int64_t>(index.at(at));
}

Dims with(Dims at, int d, int64_t value) {
  at[d] = value;
  return at;
}

// An array of shape `sizes` whose element at an index is x's at f(index).
Array moved(const Array& x, const Shape& sizes, const std::function<Dims(const Dims&)>& f) {
  Array y(sizes);
  int64_t i = 0;
  for_each_index(sizes, [&](const Dims& at) { y[i++] = x.at(f(at)); });
  return y;
}

// y at f(index of `values`) = or += the value there, in row-major order; values broadcast to `sizes`.
Array written(Array y, const Array& values, const Shape& sizes, bool add, const std::function<Dims(const Dims&)>& f) {
  for_each_index(sizes, [&](const Dims& at) { y.at(f(at)) = (add ? y.at(f(at)) : 0) + values.at(at); });
  return y;
}

// The values where the mask holds, in row-major order.
Array chosen(const Array& x, const Array& mask, const Shape& sizes) {
  Array y;
  for_each_index(sizes, [&](const Dims& at) {
    if (mask.at(at) != 0) y.data.push_back(x.at(at));
  });
  y.sizes = {y.numel()};
  return y;
}

Array filled(const Array& x, const Array& mask, double value, const Shape& sizes) {
  return moved(map(x, mask, [value](double v, double m) { return m != 0 ? value : v; }), sizes,
               [](const Dims& at) { return at; });
}

Array of_numbers(const std::vector<double>& v) {
  Array a({static_cast<int64_t>(v.size())});
  a.data = v;
  return a;
}

Tensor made(Device d, const Shape& sizes, DType t = kFloat32) {
  return zeros(sizes, {.dtype = t, .device = d});
}
Tensor numbers(Device d, const std::vector<int64_t>& v) {
  return tensor(v, {.device = d});
}

const Rows index_rows({
    {.name = "index",
     .cases =
         {{.inputs = {real({kN, 3, 4})},
           .call =
               [](const Args& a) {
                 return index(a[0], {Slice(1, None, 2), None, Ellipsis, -1});
               },
           .reference =
               [](const Refs& r) {
                 return moved(r[0], {r.n / 2, 1, 3}, [](const Dims& at) { return Dims{1 + 2 * at[0], at[2], 3}; });
               },
           .note = "views only"},
          {.inputs = {real({kN, 3, 4}), index({2, 1}, 3), index({5}, 4)},
           .call =
               [](const Args& a) {
                 return index(a[0], {Slice(), a[1], a[2]});
               },
           .reference =
               [](const Refs& r) {
                 return moved(r[0], {r.n, 2, 5}, [&](const Dims& at) {
                   return Dims{at[0], position(r[1], {at[1], 0}), position(r[2], {at[2]})};
                 });
               },
           .note = "neighbours"},
          {.inputs = {real({3, kN, 4}), index({2, 1}, 3), index({5}, 4)},
           .call =
               [](const Args& a) {
                 return index(a[0], {a[1], Ellipsis, a[2] - 4});
               },
           .reference =
               [](const Refs& r) {
                 return moved(r[0], {2, 5, r.n}, [&](const Dims& at) {
                   return Dims{position(r[1], {at[0], 0}), at[2], position(r[2], {at[1]})};
                 });
               },
           .note = "apart, negative positions"},
          {.inputs = {real({3, 2, kN}), mask({3, 2})},
           .call = [](const Args& a) { return index(a[0], {a[1]}); },
           .reference =
               [](const Refs& r) {
                 std::vector<Dims> places;
                 for_each_index({3, 2}, [&](const Dims& at) {
                   if (r[1].at(at) != 0) places.push_back(at);
                 });
                 return moved(r[0], {static_cast<int64_t>(places.size()), r.n}, [&](const Dims& at) {
                   const Dims& place = places[static_cast<size_t>(at[0])];
                   return Dims{place[0], place[1], at[1]};
                 });
               },
           .note = "mask"},
          {.inputs = {real({4, 2, 3}), index({kN}, 4)},
           .call =
               [](const Args& a) {
                 return index(a[0], {a[1].to(kInt32), 1});
               },
           .reference =
               [](const Refs& r) {
                 return moved(r[0], {r.n, 3}, [&](const Dims& at) { return Dims{position(r[1], {at[0]}), 1, at[1]}; });
               },
           .note = "int32 rows"}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"outside",
                 [](Device d) {
                   index(made(d, {2, 3}), {Slice(), numbers(d, {0, 3})});
                 },
                 "index: index 3 is out of bounds for dimension 1 with size 3 (at position [1] of the index)"},
                {"below",
                 [](Device d) {
                   index(made(d, {2, 3}), {numbers(d, {-3})});
                 },
                 "index: index -3 is out of bounds for dimension 0 with size 2"},
                {"integer",
                 [](Device d) {
                   index(made(d, {2, 3}), {None, 0, 3});
                 },
                 "index: index 3 is out of bounds for dimension 1 with size 3"},
                {"empty dimension",
                 [](Device d) {
                   index(made(d, {0, 3}), {numbers(d, {0})});
                 },
                 "index: index 0 is out of bounds for dimension 0 with size 0"},
                {"many",
                 [](Device d) {
                   index(made(d, {2, 3}), {0, 0, 0});
                 },
                 "index: too many indices for tensor of dimension 2"},
                {"broadcast",
                 [](Device d) {
                   index(made(d, {2, 3}), {numbers(d, {0, 1}), numbers(d, {0, 1, 2})});
                 },
                 "index: shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]"},
                {"mask",
                 [](Device d) {
                   index(made(d, {2, 3, 4}), {Slice(), made(d, {2, 4}, kBool)});
                 },
                 "index: The shape of the mask [2, 4] at index 0 does not match the shape of the indexed tensor [2, 3, "
                 "4] at index 1"},
                {"dtype", [](Device d) { index(made(d, {2}), {made(d, {1})}); },
                 "index: tensors used as indices must be long, int, byte or bool tensors"},
                {"two ellipses",
                 [](Device d) {
                   index(made(d, {2}), {Ellipsis, Ellipsis});
                 },
                 "index: an index can only have a single ellipsis"}}},
    {.name = "index_put",
     .cases =
         {{.inputs = {real({kN, 5}), real({1, 2})},
           .call =
               [](const Args& a) {
                 return index_put(a[0], {Ellipsis, Slice(1, 4, 2)}, a[1]);
               },
           .reference =
               [](const Refs& r) {
                 return written(r[0], r[1], {r.n, 2}, false, [](const Dims& at) { return Dims{at[0], 1 + 2 * at[1]}; });
               },
           .inplace =
               [](const Args& a) {
                 Tensor y = a[0];
                 return y.index_put_({Ellipsis, Slice(1, 4, 2)}, a[1]);
               },
           .note = "slice assignment"},
          {.inputs = {real({3, kN}), real({1, kN})},
           .call =
               [](const Args& a) {
                 return index_put(a[0], {numbers(a.device, {2, -3})}, a[1]);
               },
           .reference =
               [](const Refs& r) {
                 return written(r[0], r[1], {2, r.n}, false, [](const Dims& at) {
                   return Dims{at[0] == 0 ? 2 : 0, at[1]};
                 });
               },
           .inplace =
               [](const Args& a) {
                 Tensor y = a[0];
                 return y.index_put_({numbers(a.device, {2, -3})}, a[1]);
               }},
          {.inputs = {real({kN, 3}), mask({kN})},
           .call =
               [](const Args& a) {
                 return index_put(a[0], {a[1], Slice(0, 2)}, 1);
               },
           .reference =
               [](const Refs& r) {
                 Array y = r[0];
                 for_each_index(y.sizes, [&](const Dims& at) {
                   if (r[1].at({at[0]}) != 0 && at[1] < 2) y.at(at) = 1;
                 });
                 return y;
               },
           .inplace =
               [](const Args& a) {
                 Tensor y = a[0];
                 return y.index_put_({a[1], Slice(0, 2)}, 1);
               },
           .note = "mask and number"}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"shape", [](Device d) { index_put(made(d, {2, 3}), {numbers(d, {0, 1})}, made(d, {2, 2})); },
                 "index_put_: shape mismatch: value tensor of shape [2, 2] cannot be broadcast to indexing result of "
                 "shape [2, 3]"},
                {"dtype", [](Device d) { index_put(made(d, {2}), {numbers(d, {0})}, made(d, {}, kFloat64)); },
                 "index_put_: Index put requires the source and destination dtypes match, got float32 for the "
                 "destination and float64 for the source."},
                {"outside", [](Device d) { index_put(made(d, {2}), {numbers(d, {2})}, 1); },
                 "index_put_: index 2 is out of bounds for dimension 0 with size 2"}}},
    {.name = "index_put_",
     .cases = {{.inputs = {real({4, kN}), index({6}, 4), real({6, kN})},
                .call =
                    [](const Args& a) {
                      Tensor y = a[0].clone();
                      return index_put_(y, {a[1]}, a[2], true);
                    },
                .reference =
                    [](const Refs& r) {
                      return written(r[0], r[2], {6, r.n}, true, [&](const Dims& at) {
                        return Dims{position(r[1], {at[0]}), at[1]};
                      });
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return index_put_(y, {a[1]}, a[2], true);
                    },
                .note = "accumulate"},
               {.inputs = {real({2, 3, 4}), index({kN}, 3), index({kN}, 4), real({kN, 2})},
                .call =
                    [](const Args& a) {
                      Tensor y = a[0].clone();
                      return index_put_(y, {Slice(), a[1], a[2]}, a[3].transpose(0, 1), true);
                    },
                .reference =
                    [](const Refs& r) {
                      Array y = r[0];
                      for_each_index({r.n, 2}, [&](const Dims& at) {
                        y.at({at[1], position(r[1], {at[0]}), position(r[2], {at[0]})}) += r[3].at(at);
                      });
                      return y;
                    },
                .note = "accumulate, transposed values"}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2},
});

const Rows gather_rows({
    {.name = "index_select",
     .cases =
         {{.inputs = {real({5, kN}), index({7}, 5)},
           .call = [](const Args& a) { return index_select(a[0], 0, a[1]); },
           .reference =
               [](const Refs& r) {
                 return moved(r[0], {7, r.n}, [&](const Dims& at) { return Dims{position(r[1], {at[0]}), at[1]}; });
               }},
          {.inputs = {real({3, 5, 2}), index({kN}, 5)},
           .call = [](const Args& a) { return index_select(a[0], -2, a[1].to(kInt32)); },
           .reference =
               [](const Refs& r) {
                 return moved(r[0], {3, r.n, 2}, [&](const Dims& at) { return with(at, 1, position(r[1], {at[1]})); });
               }},
          {.inputs = {real({}), index({}, 1)},
           .call = [](const Args& a) { return index_select(a[0], 0, a[1]); },
           .reference = [](const Refs& r) { return r[0]; }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"outside",
                 [](Device d) {
                   index_select(made(d, {2, 3}), 1, numbers(d, {0, 3}));
                 },
                 "index_select: index 3 is out of bounds for dimension 1 with size 3"},
                {"negative",
                 [](Device d) {
                   index_select(made(d, {2, 3}), 1, numbers(d, {-1}));
                 },
                 "index_select: index -1 is out of bounds for dimension 1 with size 3"},
                {"rank",
                 [](Device d) {
                   index_select(made(d, {2}), 0, made(d, {1, 1}, kInt64));
                 },
                 "index_select: Index is supposed to be a vector"},
                {"dtype", [](Device d) { index_select(made(d, {2}), 0, made(d, {1})); },
                 "index_select: Expected dtype int32/int64 for index"}}},
    {.name = "index_add",
     .cases = {{.inputs = {real({5, kN}), index({7}, 5), real({7, kN})},
                .call = [](const Args& a) { return index_add(a[0], 0, a[1], a[2]); },
                .reference =
                    [](const Refs& r) {
                      return written(r[0], r[2], {7, r.n}, true, [&](const Dims& at) {
                        return Dims{position(r[1], {at[0]}), at[1]};
                      });
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return index_add_(y, 0, a[1], a[2]);
                    }},
               {.inputs = {real({3, 5, 2}, 0, 3), index({kN}, 5), real({3, kN, 2}, 0, 3)},
                .call = [](const Args& a) { return index_add(a[0], 1, a[1], a[2], 2); },
                .reference =
                    [](const Refs& r) {
                      return written(r[0], map(r[2], [](double v) { return 2 * v; }), {3, r.n, 2}, true,
                                     [&](const Dims& at) { return with(at, 1, position(r[1], {at[1]})); });
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return y.index_add_(1, a[1], a[2], 2);
                    }}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2,
     .errors =
         {{"a vector into a number", [](Device d) { index_add(made(d, {}), 0, numbers(d, {0}), made(d, {1})); },
           "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
           "[] source.shape = [1]"},
          {"count",
           [](Device d) {
             index_add(made(d, {2, 3}), 1, numbers(d, {0, 1}), made(d, {2, 1}));
           },
           "index_add_: Number of indices (2) should be equal to source.size(dim): (1), for dim: 1"},
          {"shape",
           [](Device d) {
             index_add(made(d, {2, 3}), 1, numbers(d, {0}), made(d, {1, 1}));
           },
           "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
           "= [2, 3] source.shape = [1, 1]"},
          {"outside",
           [](Device d) {
             index_add(made(d, {2, 3}), 1, numbers(d, {3}), made(d, {2, 1}));
           },
           "index 3 is out of bounds for dimension 1 with size 3"},
          {"dtype", [](Device d) { index_add(made(d, {2}), 0, numbers(d, {1}), made(d, {1}, kFloat64)); },
           "index_add_: Expected self.dtype to be equal to src.dtype"}}},
    {.name = "gather",
     .cases = {{.inputs = {real({3, 4, kN}), index({2, 5, kN}, 4)},
                .call = [](const Args& a) { return gather(a[0], 1, a[1]); },
                .reference =
                    [](const Refs& r) {
                      return moved(r[0], {2, 5, r.n}, [&](const Dims& at) { return with(at, 1, position(r[1], at)); });
                    }},
               {.inputs = {real({3, 4}), index({3, kN}, 4)},
                .call = [](const Args& a) { return gather(a[0], -1, a[1].to(kInt32)); },
                .reference =
                    [](const Refs& r) {
                      return moved(r[0], {3, r.n}, [&](const Dims& at) { return with(at, 1, position(r[1], at)); });
                    }},
               {.inputs = {real({}), index({2}, 1)},
                .call = [](const Args& a) { return gather(a[0], 0, a[1]); },
                .reference = [](const Refs& r) { return moved(r[0], {2}, [](const Dims&) { return Dims{}; }); }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"outside", [](Device d) { gather(made(d, {2, 3}), 1, numbers(d, {0, 3}).unsqueeze(0)); },
                 "gather: index 3 is out of bounds for dimension 1 with size 3 (at position [0, 1] of the index)"},
                {"negative", [](Device d) { gather(made(d, {2}), 0, numbers(d, {-1})); },
                 "gather: index -1 is out of bounds for dimension 0 with size 2"},
                {"rank", [](Device d) { gather(made(d, {2, 3}), 1, numbers(d, {0})); },
                 "gather: Index tensor must have the same number of dimensions as input tensor"},
                {"larger", [](Device d) { gather(made(d, {2, 3}), 1, made(d, {3, 1}, kInt64)); },
                 "expected index [3, 1] to be no larger than self [2, 3] apart from dimension 1"},
                {"dtype", [](Device d) { gather(made(d, {2}), 0, made(d, {1})); },
                 "gather: Expected dtype int32/int64 for index"}}},
    {.name = "take_along_dim",
     .cases = {{.inputs = {real({3, 4, kN}), index({1, 5, 1}, 4)},
                .call = [](const Args& a) { return take_along_dim(a[0], a[1] - 4, 1); },
                .reference =
                    [](const Refs& r) {
                      return moved(r[0], {3, 5, r.n}, [&](const Dims& at) {
                        return with(at, 1, position(r[1], {0, at[1], 0}));
                      });
                    }},
               {.inputs = {real({3, 4}), index({kN}, 12)},
                .call = [](const Args& a) { return take_along_dim(a[0], a[1]); },
                .reference =
                    [](const Refs& r) {
                      return moved(r[0], {r.n}, [&](const Dims& at) {
                        return Dims{position(r[1], at) / 4, position(r[1], at) % 4};
                      });
                    }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"far below", [](Device d) { take_along_dim(made(d, {4}), numbers(d, {-5}), 0); },
                 "take_along_dim: index -5 is out of bounds for dimension 0 with size 4"},
                {"rank", [](Device d) { take_along_dim(made(d, {2, 3}), numbers(d, {0}), 0); },
                 "take_along_dim: input and indices should have the same number of dimensions, but got 2 dimensions "
                 "for input, and 1 dimensions for indices"}}},
    {.name = "scatter",
     .cases = {{.inputs = {real({4, kN}), real({3, kN})},
                .call =
                    [](const Args& a) {
                      return scatter(a[0], 0, numbers(a.device, {2, 0}).unsqueeze(1).expand({2, a.n}), a[1]);
                    },
                .reference =
                    [](const Refs& r) {
                      return written(r[0], r[1], {2, r.n}, false, [](const Dims& at) {
                        return Dims{at[0] == 0 ? 2 : 0, at[1]};
                      });
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return scatter_(y, 0, numbers(a.device, {2, 0}).unsqueeze(1).expand({2, a.n}), a[1]);
                    },
                .note = "a source larger than the index"},
               {.inputs = {real({3, 4}), index({3, kN}, 4)},
                .call = [](const Args& a) { return scatter(a[0], 1, a[1], 1); },
                .reference =
                    [](const Refs& r) {
                      return written(r[0], Array({1, 1}, 1), {3, r.n}, false,
                                     [&](const Dims& at) { return with(at, 1, position(r[1], at)); });
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return y.scatter_(1, a[1], 1);
                    },
                .note = "a number"}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"number too large", [](Device d) { scatter(made(d, {3}, kUInt8), 0, numbers(d, {1}), 300); },
                 "scatter_: value cannot be converted to type uint8 without overflow: 300"},
                {"larger", [](Device d) { scatter(made(d, {2, 3}), 1, made(d, {2, 2}, kInt64), made(d, {2, 1})); },
                 "Expected index [2, 2] to be no larger than self [2, 3] apart from dimension 1 and to be no larger "
                 "size than src [2, 1]"},
                {"dtype", [](Device d) { scatter(made(d, {2}), 0, numbers(d, {0}), made(d, {1}, kFloat64)); },
                 "scatter_: Expected self.dtype to be equal to src.dtype"},
                {"rank", [](Device d) { scatter(made(d, {2, 3}), 0, numbers(d, {0}), made(d, {2, 3})); },
                 "scatter_: Index tensor must have the same number of dimensions as self tensor"},
                {"outside", [](Device d) { scatter(made(d, {2}), 0, numbers(d, {-1}), 1); },
                 "scatter_: index -1 is out of bounds for dimension 0 with size 2"}}},
    {.name = "scatter_add",
     .cases = {{.inputs = {real({4, kN}), index({6, kN}, 4), real({6, kN})},
                .call = [](const Args& a) { return scatter_add(a[0], 0, a[1], a[2]); },
                .reference =
                    [](const Refs& r) {
                      return written(r[0], r[2], {6, r.n}, true,
                                     [&](const Dims& at) { return with(at, 0, position(r[1], at)); });
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return y.scatter_add_(0, a[1], a[2]);
                    }},
               {.inputs = {real({2, 3}), index({2, kN}, 3), real({3, kN})},
                .call = [](const Args& a) { return scatter_add(a[0], 1, a[1].to(kInt32), a[2]); },
                .reference =
                    [](const Refs& r) {
                      return written(r[0], r[2], {2, r.n}, true,
                                     [&](const Dims& at) { return with(at, 1, position(r[1], at)); });
                    }}},
     .dtypes = kNumberTypes,
     .growth = kSummed,
     .gradient = 2,
     .errors = {{"outside", [](Device d) { scatter_add(made(d, {2}), 0, numbers(d, {2}), made(d, {1})); },
                 "scatter_add_: index 2 is out of bounds for dimension 0 with size 2"}}},
    {.name = "one_hot",
     .cases = {{.inputs = {index({kN, 2}, 4)},
                .call = [](const Args& a) { return one_hot(a[0], 5); },
                .reference =
                    [](const Refs& r) {
                      Array y({r.n, 2, 5});
                      for_each_index(r[0].sizes, [&](const Dims& at) { y.at({at[0], at[1], position(r[0], at)}) = 1; });
                      return y;
                    }}},
     .dtypes = {kFloat32},
     .result = {index_type},
     .growth = kExact,
     .errors = {{"large", [](Device d) { one_hot(numbers(d, {0, 2}), 2); },
                 "one_hot: Class values must be smaller than num_classes"},
                {"negative", [](Device d) { one_hot(numbers(d, {-1})); }, "one_hot: Class values must be non-negative"},
                {"empty, no classes", [](Device d) { one_hot(made(d, {0}, kInt64), 0); },
                 "one_hot: Can not infer total number of classes from empty tensor"},
                {"too many", [](Device d) { one_hot(made(d, {2}, kInt64), INT64_MAX); }, "one_hot: [2, "},
                {"empty", [](Device d) { one_hot(made(d, {0}, kInt64)); },
                 "one_hot: Can not infer total number of classes from empty tensor"},
                {"dtype", [](Device d) { one_hot(made(d, {1})); },
                 "one_hot: one_hot is only applicable to index tensor of type"}},
     .no_specials = "its input is an index"},
});

const Rows mask_rows({
    {.name = "masked_fill",
     .cases = {{.inputs = {real({kN, 3}), mask({kN, 3})},
                .call = [](const Args& a) { return masked_fill(a[0], a[1], 1); },
                .reference =
                    [](const Refs& r) {
                      return filled(r[0], r[1], 1, {r.n, 3});
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return y.masked_fill_(a[1], 1);
                    }},
               {.inputs = {real({kN, 3}), mask({3}), real({})},
                .call = [](const Args& a) { return masked_fill(a[0], a[1], a[2]); },
                .reference =
                    [](const Refs& r) {
                      return filled(r[0], r[1], r[2][0], {r.n, 3});
                    },
                .inplace =
                    [](const Args& a) {
                      Tensor y = a[0];
                      return masked_fill_(y, a[1], a[2]);
                    },
                .note = "0-dim value"},
               {.inputs = {real({kN, 1}), mask({2, 1, 3})},
                .call = [](const Args& a) { return masked_fill(a[0], a[1], 0); },
                .reference =
                    [](const Refs& r) {
                      return filled(r[0], r[1], 0, {2, r.n, 3});
                    },
                .note = "x broadcasts too"}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"mask", [](Device d) { masked_fill(made(d, {2}), made(d, {2}), 1); },
                 "masked_fill: masked_fill only supports boolean masks, but got mask with dtype float32"},
                {"value", [](Device d) { masked_fill(made(d, {2}), made(d, {2}, kBool), made(d, {1})); },
                 "masked_fill only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s)."},
                {"overflow", [](Device d) { masked_fill(made(d, {2}, kFloat16), made(d, {2}, kBool), 1e6); },
                 "masked_fill: value cannot be converted to type float16 without overflow"},
                {"grows",
                 [](Device d) {
                   Tensor x = made(d, {3});
                   masked_fill_(x, made(d, {2, 3}, kBool), 1);
                 },
                 "masked_fill_: output with shape [3] doesn't match the broadcast shape [2, 3]"}}},
    {.name = "masked_select",
     .cases = {{.inputs = {real({kN, 3}), mask({kN, 3})},
                .call = [](const Args& a) { return masked_select(a[0], a[1]); },
                .reference =
                    [](const Refs& r) {
                      return chosen(r[0], r[1], {r.n, 3});
                    }},
               {.inputs = {real({kN, 1}), mask({2, 1, 3})},
                .call = [](const Args& a) { return masked_select(a[0], a[1]); },
                .reference =
                    [](const Refs& r) {
                      return chosen(r[0], r[1], {2, r.n, 3});
                    }}},
     .dtypes = kAllTypes,
     .growth = kExact,
     .gradient = 2,
     .errors = {{"mask", [](Device d) { masked_select(made(d, {2}), made(d, {2}, kInt64)); },
                 "masked_select: expected BoolTensor for mask, but got int64"}}},
    {.name = "nonzero",
     .cases = {{.inputs = {real({kN, 3}, -1, 1)},
                .call = [](const Args& a) { return nonzero(a[0]); },
                .reference =
                    [](const Refs& r) {
                      std::vector<double> v;
                      for_each_index(r[0].sizes, [&](const Dims& at) {
                        if (r[0].at(at) != 0)
                          v.insert(v.end(), {static_cast<double>(at[0]), static_cast<double>(at[1])});
                      });
                      Array y = of_numbers(v);
                      y.sizes = {y.numel() / 2, 2};
                      return y;
                    }},
               {.inputs = {real({})},
                .call = [](const Args& a) { return nonzero(a[0]); },
                .reference =
                    [](const Refs& r) {
                      return Array({r[0][0] != 0 ? 1 : 0, 0});
                    }}},
     .dtypes = kAllTypes,
     .result = {index_type},
     .growth = kExact},
});

}  // namespace

}  // namespace tantu::optest
