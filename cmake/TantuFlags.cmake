# Flags of our own targets only: nothing here reaches the exported target but the language level.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_program(TANTU_CCACHE ccache)
if(PROJECT_IS_TOP_LEVEL AND TANTU_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TANTU_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${TANTU_CCACHE}")
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

add_library(tantu_flags INTERFACE)
target_compile_features(tantu_flags INTERFACE cxx_std_20)
# No contraction: a fused step is written std::fma, so results do not depend on the compiler. The other two change no
# value; they let loops with a comparison in them become vector code.
target_compile_options(tantu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-fno-math-errno;-fno-trapping-math>)
target_compile_options(tantu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unknown-pragmas;-Wno-psabi>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies in std::string's own concatenation (GCC bug 105329).
  target_compile_options(tantu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # `a & b` on truth values is meant: without a jump the loop becomes vector code.
  target_compile_options(tantu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-bitwise-instead-of-logical;-Wno-unknown-warning-option>)
endif()
if(TANTU_WERROR)
  target_compile_options(tantu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(TANTU_NATIVE)
  target_compile_options(tantu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()
if(TANTU_SANITIZE STREQUAL "address")
  target_compile_options(tantu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
  target_link_options(tantu_flags INTERFACE -fsanitize=address,undefined)
elseif(TANTU_SANITIZE STREQUAL "thread")
  target_compile_options(tantu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=thread>)
  target_link_options(tantu_flags INTERFACE -fsanitize=thread)
endif()
