# One generated source per 8 rows of kernels/pointwise.def, so that the rows compile side by side.
include(CheckCXXCompilerFlag)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/kernels/pointwise.def")
file(STRINGS kernels/pointwise.def TANTU_ROWS REGEX "^TANTU_(UNARY|BINARY|TERNARY)(_OF)?\\(")
list(LENGTH TANTU_ROWS TANTU_ROW_COUNT)
math(EXPR TANTU_LAST_SHARD "(${TANTU_ROW_COUNT} - 1) / 8")
set(TANTU_SHARDS)
foreach(SHARD RANGE ${TANTU_LAST_SHARD})
  configure_file(cmake/pointwise_shard.cpp.in "${PROJECT_BINARY_DIR}/shards/pointwise_${SHARD}.cpp" @ONLY)
  list(APPEND TANTU_SHARDS "${PROJECT_BINARY_DIR}/shards/pointwise_${SHARD}.cpp")
endforeach()
# Where there are 512-bit registers these loops gain by them (exp: 1.4 times); compilers prefer 256 bits by themselves.
check_cxx_compiler_flag(-mprefer-vector-width=512 TANTU_WIDE_VECTORS)
if(TANTU_WIDE_VECTORS)
  set_source_files_properties(${TANTU_SHARDS} kernels/softmax.cpp kernels/logsumexp.cpp kernels/variance.cpp kernels/vector_norm.cpp
                              PROPERTIES COMPILE_OPTIONS -mprefer-vector-width=512)
endif()
