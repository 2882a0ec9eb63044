#pragma once

// Catch2 2.13 and 3.x under one name.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <cstdio>
#include <string>

namespace tantu {

/// A matcher for CHECK_THROWS_WITH: the text has this in it.
inline auto contains(const std::string& text) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(text);
#else
  return Catch::Contains(text);
#endif
}

inline bool test_was_skipped = false;

/// Says what a test lacks (a data set, a device) and leaves it out: the program returns 77 if nothing else failed.
inline void skip_test(const char* lack) {
  std::printf("SKIPPED: %s\n", lack);
  test_was_skipped = true;
}

}  // namespace tantu
