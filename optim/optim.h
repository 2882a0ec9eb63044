#pragma once

#include <tantu/optim/clip_grad.h>
#include <tantu/optim/lr_scheduler.h>
#include <tantu/optim/optimizers.h>
