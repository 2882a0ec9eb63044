// Trains a classifier on Fashion-MNIST: 60,000 images of clothes in ten classes. This is what scripts/demo runs.
//
//     build/examples/fashion_mnist [--epochs 15] [--batch-size 128] [--lr 0.001] [--device cpu] [--seed 1] [--limit N]
//                                  [--data FOLDER] [--save model.safetensors] [--out FOLDER] [--quiet]
//
// It ends with the test accuracy and a table of which class was taken for which, and with --out writes training.svg
// (loss and accuracy) and mistakes.svg (images it got wrong).

#include "support/progress.h"
#include "support/svg.h"

#include <tantu/tantu.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>

using namespace tantu;

namespace {

struct Options {
  int epochs = 15;
  int64_t batch_size = 128;
  double lr = 1e-3, dropout = 0.2;
  std::string device = "cpu", data, save, out;
  uint64_t seed = 1;
  int64_t limit = 0;
  bool quiet = false;
};

// What is seen while training, for the picture at the end.
struct History {
  examples::Curve loss{"training loss", {}, {}, false};
  examples::Curve accuracy{"test accuracy", {}, {}, true};
};

nn::Sequential make_model(double dropout) {
  return nn::Sequential{nn::Flatten(),        nn::Linear(784, 512), nn::ReLU(),         nn::Dropout(dropout),
                        nn::Linear(512, 256), nn::ReLU(),           nn::Linear(256, 10)};
}

void train_epoch(nn::Sequential& model, optim::Optimizer& optimizer, optim::lr_scheduler::LRScheduler& schedule,
                 const data::DataLoader& loader, int epoch, const Options& options, History& history) {
  model.train();
  const Device device(options.device);
  examples::Progress progress(fmt::format("epoch {}/{}", epoch + 1, options.epochs), loader.dataset().size(), "images");
  const double batches = static_cast<double>(loader.size());
  const int64_t every = std::max<int64_t>(1, loader.size() / 24);  // losses that are drawn
  int64_t batch = 0;
  for (auto [images, labels] : loader) {
    const Tensor loss = nn::functional::cross_entropy(model(images.to(device)), labels.to(device));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    schedule.step();
    const double value = loss.item<double>();
    if (batch % every == 0) {
      history.loss.x.push_back(epoch + static_cast<double>(batch) / batches);
      history.loss.y.push_back(value);
    }
    progress.advance(labels.numel(), fmt::format("loss {:.3f}", value));
    ++batch;
  }
}

// The predicted class of every image, in order.
Tensor predict(nn::Sequential& model, const data::TensorDataset& images, Device device) {
  InferenceMode no_tape;
  model.eval();
  std::vector<Tensor> parts;
  for (auto [batch, labels] : data::DataLoader(images, {.batch_size = 1000}))
    parts.push_back(model(batch.to(device)).argmax(1).cpu());
  return cat(parts);
}

double accuracy(const Tensor& predicted, const Tensor& labels) {
  return (predicted == labels).to_float().mean().item<double>();
}

void print_confusion(const Tensor& predicted, const Tensor& labels, const std::vector<std::string>& names) {
  const auto p = predicted.to_vector<int64_t>(), l = labels.to_vector<int64_t>();
  std::vector<int> counts(100);
  for (size_t i = 0; i < p.size(); ++i) ++counts[static_cast<size_t>(l[i] * 10 + p[i])];
  fmt::print("\nrows: what it is; columns: what it was taken for\n{:>12}", "");
  for (const std::string& name : names) fmt::print("{:>6.5}", name);
  fmt::print("\n");
  for (size_t row = 0; row < 10; ++row) {
    fmt::print("{:>12.12}", names[row]);
    for (size_t column = 0; column < 10; ++column) fmt::print("{:>6}", counts[row * 10 + column]);
    fmt::print("\n");
  }
}

// One line for each recorded loss: the epoch, in parts, and the loss.
std::string table_of(const examples::Curve& series) {
  std::string text = "epoch,loss\n";
  for (size_t i = 0; i < series.x.size(); ++i) text += fmt::format("{},{}\n", series.x[i], series.y[i]);
  return text;
}

std::string mistakes_sheet(const data::FashionMNIST& test, const Tensor& predicted) {
  const auto p = predicted.to_vector<int64_t>(), l = test.labels().to_vector<int64_t>();
  std::vector<examples::Thumbnail> pictures;
  for (size_t i = 0; i < p.size() && pictures.size() < 40; ++i) {
    if (p[i] == l[i]) continue;
    examples::Thumbnail picture;
    for (float v : test.images()[static_cast<int64_t>(i)].to_vector<float>())
      picture.pixels.push_back(static_cast<uint8_t>(v * 255 + 0.5f));
    const auto& names = data::FashionMNIST::classes();
    picture.caption = fmt::format("{}, not {}", names[static_cast<size_t>(l[i])], names[static_cast<size_t>(p[i])]);
    pictures.push_back(std::move(picture));
  }
  return examples::image_sheet("Images it got wrong: what they are, and not what it said", pictures, 28, 8);
}

// Folders that are missing should be known before the training, not after it.
void make_folders(const Options& options) {
  if (!options.out.empty()) std::filesystem::create_directories(options.out);
  const std::filesystem::path folder = std::filesystem::path(options.save).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
}

void run(const Options& options) {
  make_folders(options);
  const data::FashionMNIST train(true, options.data), test(false, options.data);
  const int64_t count = options.limit > 0 ? std::min(options.limit, train.size()) : train.size();
  const data::TensorDataset used(train.images().narrow(0, 0, count), train.labels().narrow(0, 0, count));

  manual_seed(options.seed);
  const Device device(options.device);
  nn::Sequential model = make_model(options.dropout);
  model.to(device);
  if (!options.quiet) fmt::print("{}", nn::summary(model, {1, 1, 28, 28}));
  const data::DataLoader loader(used, {.batch_size = options.batch_size, .shuffle = true});
  optim::AdamW optimizer(model.parameters(), {.lr = options.lr});
  optim::lr_scheduler::CosineAnnealingLR schedule(optimizer, options.epochs * loader.size());

  History history;
  Tensor predicted;
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    train_epoch(model, optimizer, schedule, loader, epoch, options, history);
    predicted = predict(model, test, device);
    history.accuracy.x.push_back(epoch + 1);
    history.accuracy.y.push_back(accuracy(predicted, test.labels()));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!options.quiet)
      fmt::print("epoch {:>2}: test accuracy {:.2f} %  ({:.1f} s)\n", epoch + 1, 100 * history.accuracy.y.back(),
                 seconds);
  }
  if (options.epochs == 0) predicted = predict(model, test, device);
  print_confusion(predicted, test.labels(), data::FashionMNIST::classes());
  fmt::print("\ntest accuracy: {:.2f} % after {} epochs on {} images\n", 100 * accuracy(predicted, test.labels()),
             options.epochs, count);

  if (!options.save.empty()) {
    data::save_safetensors(options.save, model.state_dict(), {{"format", "pt"}});
    fmt::print("wrote {}\n", options.save);
  }
  if (options.out.empty()) return;
  examples::write_file(options.out + "/training.svg", examples::line_chart("Fashion-MNIST", "epoch", "loss", "accuracy",
                                                                           {history.loss, history.accuracy}));
  examples::write_file(options.out + "/mistakes.svg", mistakes_sheet(test, predicted));
  examples::write_file(options.out + "/training.csv", table_of(history.loss));
  fmt::print("wrote {0}/training.svg, {0}/training.csv and {0}/mistakes.svg\n", options.out);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.device = default_device().to_string();
  CLI::App app{"Trains a classifier on Fashion-MNIST"};
  app.add_option("--epochs", options.epochs, "Passes over the training images")
      ->capture_default_str()
      ->check(CLI::Range(0, 10000));
  app.add_option("--batch-size", options.batch_size, "Images per step")
      ->capture_default_str()
      ->check(CLI::Range(1, 60000));
  app.add_option("--lr", options.lr, "Learning rate at the start")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--dropout", options.dropout, "Part of the first layer's results that is dropped in training")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--device", options.device, "Where to compute: cpu, cuda:0, vgpu:0")->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of all random numbers")->capture_default_str();
  app.add_option("--limit", options.limit, "Train on the first N images only (0: all)")->check(CLI::NonNegativeNumber);
  app.add_option("--data", options.data, "Folder of the four IDX files (default: the Debian package's)");
  app.add_option("--save", options.save, "Write the weights to this safetensors file");
  app.add_option("--out", options.out, "Folder for training.svg, training.csv and mistakes.svg");
  app.add_flag("--quiet", options.quiet, "Print the result only");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "fashion_mnist: {}\n", e.what());
    return 1;
  }
  return 0;
}
