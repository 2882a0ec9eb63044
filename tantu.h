#pragma once

/// Everything a model writer needs.
#include <tantu/autograd/autograd.h>
#include <tantu/autograd/checkpoint.h>
#include <tantu/autograd/function.h>
#include <tantu/autograd/gradcheck.h>
#include <tantu/autograd/ops.h>
#include <tantu/core/device.h>
#include <tantu/core/gpu.h>
#include <tantu/core/matmul_options.h>
#include <tantu/core/print.h>
#include <tantu/core/thread_pool.h>
#include <tantu/data/data.h>
#include <tantu/nn/nn.h>
#include <tantu/optim/optim.h>
#include <tantu/version.h>
