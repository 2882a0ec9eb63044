#pragma once

/// Marks a type or function that crosses a shared-library boundary (the GPU libraries are built with hidden
/// visibility).
#define TANTU_API __attribute__((visibility("default")))
