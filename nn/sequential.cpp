#include <tantu/nn/sequential.h>

namespace tantu::nn {

namespace {

Module& at(const Module& list, size_t i) {
  const auto children = list.children();
  TANTU_CHECK(i < children.size(), IndexError, "{}: index {} is out of range for {} modules", list.name(), i,
              children.size());
  return *children[i];
}

}  // namespace

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (const auto& child : children()) y = child->forward(y);
  return y;
}

Module& Sequential::operator[](size_t i) const {
  return at(*this, i);
}
Module& ModuleList::operator[](size_t i) const {
  return at(*this, i);
}

}  // namespace tantu::nn
