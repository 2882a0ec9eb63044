#pragma once

/// The public operations, by family.
#include <tantu/autograd/ops/conv.h>
#include <tantu/autograd/ops/copy.h>
#include <tantu/autograd/ops/creation.h>
#include <tantu/autograd/ops/dropout.h>
#include <tantu/autograd/ops/embedding.h>
#include <tantu/autograd/ops/gather.h>
#include <tantu/autograd/ops/index.h>
#include <tantu/autograd/ops/join.h>
#include <tantu/autograd/ops/linalg.h>
#include <tantu/autograd/ops/loss.h>
#include <tantu/autograd/ops/mask.h>
#include <tantu/autograd/ops/norm.h>
#include <tantu/autograd/ops/pointwise.h>
#include <tantu/autograd/ops/pool.h>
#include <tantu/autograd/ops/random.h>
#include <tantu/autograd/ops/rearrange.h>
#include <tantu/autograd/ops/reduce.h>
#include <tantu/autograd/ops/shape.h>
#include <tantu/autograd/ops/softmax.h>
#include <tantu/autograd/ops/sort.h>
