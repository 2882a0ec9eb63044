#pragma once

/// Datasets, loaders and file formats.
#include <tantu/data/dataloader.h>
#include <tantu/data/dataset.h>
#include <tantu/data/idx.h>
#include <tantu/data/mnist.h>
#include <tantu/data/safetensors.h>
#include <tantu/data/sampler.h>
