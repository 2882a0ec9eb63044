# Runs PROGRAM with ARGUMENTS and fails unless it prints exactly the text of EXPECTED.
separate_arguments(ARGUMENTS)
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} OUTPUT_VARIABLE printed RESULT_VARIABLE code)
file(READ ${EXPECTED} expected)
if(NOT code EQUAL 0 OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} ended with ${code} and printed\n${printed}\ninstead of\n${expected}")
endif()
