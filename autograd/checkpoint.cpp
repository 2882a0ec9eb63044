#include <tantu/autograd/checkpoint.h>

#include <tantu/autograd/tape.h>
#include <tantu/core/generator.h>

#include <utility>

namespace tantu {

namespace {

using tape::Remade;

template <class T>
class Restored {  // a variable of this thread, set for the time of a scope
 public:
  Restored(T& place, T value) : place_(place), saved_(std::exchange(place, value)) {}
  ~Restored() { place_ = saved_; }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& place_;
  T saved_;
};

class GeneratorScope {  // the generator as it was then, and afterwards as it is now
 public:
  explicit GeneratorScope(const std::vector<uint8_t>& then) : now_(default_generator().get_state()) {
    default_generator().set_state(then);
  }
  ~GeneratorScope() { default_generator().set_state(now_); }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  std::vector<uint8_t> now_;
};

// Keeps the inputs of the function, with their versions; under an outer checkpoint they are remade too.
class Inputs final : public tape::Node {
 public:
  explicit Inputs(const TensorList& inputs) : Node("checkpoint") {
    for (const Tensor& x : inputs) saved_tensors.emplace_back(x);
  }
  TensorList apply(TensorList&) override { return {}; }
  TensorList get() {
    TensorList list;
    for (size_t i = 0; i < saved_tensors.size(); ++i) list.push_back(saved(static_cast<int>(i)));
    return list;
  }
};

// One checkpointed call. It lives as long as one of its saved tensors may be asked for.
class Frame final : public RefCounted {
 public:
  Frame(std::function<TensorList(const TensorList&)> fn, const TensorList& inputs)
      : fn_(std::move(fn)), inputs_(new Inputs(inputs)), generator_(default_generator().get_state()) {}

  TensorList first_run(const TensorList& inputs);
  Tensor get(size_t i);
  void drop(size_t i) { places_[i] = {{}, kFloat32, {}, 0, false}; }

  size_t add(const Tensor& t) {
    places_.push_back({t.sizes(), t.dtype()});
    return places_.size() - 1;
  }
  void refill(size_t i, const Tensor& t) {
    TANTU_CHECK(i < places_.size(), AutogradError, "checkpoint: the second run saved more tensors than the first ({})",
                places_.size());
    Place& place = places_[i];
    if (!place.wanted) return;
    TANTU_CHECK(place.sizes == t.sizes() && place.dtype == t.dtype(), AutogradError,
                "checkpoint: Recomputed values have different metadata than during the forward pass: saved tensor {} "
                "was {} {} and is now {} {}",
                i, place.dtype, place.sizes, t.dtype(), t.sizes());
    place.again = make_view(t.impl().storage, t.dtype(), t.sizes(), t.strides(), t.storage_offset());
    place.version = t.version();
  }

 private:
  struct Place {
    Shape sizes;
    DType dtype;
    Tensor again = {};
    uint32_t version = 0;
    bool wanted = true;
  };
  void second_run();

  std::function<TensorList(const TensorList&)> fn_;
  Ref<Inputs> inputs_;
  std::vector<uint8_t> generator_;
  std::vector<Place> places_;
};

void destroy(Frame* frame) {
  delete frame;
}

class Piece final : public Remade {
 public:
  Piece(Ref<Frame> frame, const Tensor& t) : frame_(std::move(frame)), i_(frame_->add(t)) {}
  ~Piece() override { frame_->drop(i_); }
  Tensor make() override { return frame_->get(i_); }

 private:
  Ref<Frame> frame_;
  size_t i_;
};

// Leaves that require grad are kept: the edges of the graph hold them anyway.
bool is_kept(const Tensor& t, bool is_output) {
  return !is_output && t.requires_grad() && t.is_leaf();
}

class FirstRun final : public tape::SaveFilter {
 public:
  explicit FirstRun(Frame* frame) : frame_(frame) {}
  Ref<Remade> offer(const Tensor& t, bool is_output) override {
    if (is_kept(t, is_output)) return nullptr;
    Ref<Remade> piece(new Piece(frame_, t));
    if (!is_output) piece->history = tape::edge_of(t);
    return piece;
  }

 private:
  Ref<Frame> frame_;
};

class SecondRun final : public tape::SaveFilter {
 public:
  explicit SecondRun(Frame& frame) : frame_(frame) {}
  Ref<Remade> offer(const Tensor& t, bool is_output) override {
    if (!is_kept(t, is_output)) frame_.refill(count++, t);
    return nullptr;
  }
  size_t count = 0;

 private:
  Frame& frame_;
};

TensorList Frame::first_run(const TensorList& inputs) {
  FirstRun filter(this);
  Restored<tape::SaveFilter*> scope(tape::save_filter(), &filter);
  return fn_(inputs);
}

void Frame::second_run() {
  const TensorList inputs = inputs_->get();
  SecondRun filter(*this);
  Restored<tape::SaveFilter*> scope(tape::save_filter(), &filter);
  EnableGradGuard grad_mode;
  GeneratorScope generator(generator_);
  fn_(inputs);
  TANTU_CHECK(filter.count == places_.size(), AutogradError,
              "checkpoint: the second run saved {} tensors and the first {}", filter.count, places_.size());
}

Tensor Frame::get(size_t i) {
  if (!places_[i].again.defined()) second_run();
  const Place& place = places_[i];
  TANTU_CHECK(place.again.version() == place.version, AutogradError,
              "checkpoint: one of the variables needed for gradient computation has been modified by an inplace "
              "operation: {} {}",
              place.dtype, place.sizes);
  return make_view(place.again.impl().storage, place.dtype, place.sizes, place.again.strides(),
                   place.again.storage_offset());
}

}  // namespace

TensorList checkpoint(std::function<TensorList(const TensorList&)> fn, const TensorList& inputs, Site at) {
  tape::Op op("checkpoint", at);
  if (!is_grad_enabled()) return fn(inputs);
  return make_ref<Frame>(std::move(fn), inputs)->first_run(inputs);
}

Tensor checkpoint(std::function<Tensor(const Tensor&)> fn, const Tensor& input, Site at) {
  tape::Op op("checkpoint", at);
  return checkpoint([fn = std::move(fn)](const TensorList& x) { return TensorList{fn(x[0])}; }, TensorList{input})[0];
}

}  // namespace tantu
