#pragma once

#include <tantu/nn/activation.h>
#include <tantu/nn/dropout.h>
#include <tantu/nn/embedding.h>
#include <tantu/nn/functional.h>
#include <tantu/nn/init.h>
#include <tantu/nn/linear.h>
#include <tantu/nn/loss.h>
#include <tantu/nn/module.h>
#include <tantu/nn/normalization.h>
#include <tantu/nn/sequential.h>
