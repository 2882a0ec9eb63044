#define CATCH_CONFIG_RUNNER
#include <tantu/tests/catch.h>

// 0: all passed; 1: something failed (Catch2 itself would return the number of failures, and 77 of them would read as
// "skipped"); 77: a test lacked what it needs; 2: the command line is wrong or no test was found.
int main(int argc, char** argv) {
  Catch::Session session;
  if (session.applyCommandLine(argc, argv) != 0) return 2;
  if (session.run() != 0) return 1;
  return tantu::test_was_skipped ? 77 : 0;
}
