# The GPU source list, written once: tantu_vgpu and tantu_cuda compile the same files, each in its own directory, since a
# source's language is a property of the directory. Generated shards are made per target, in its binary directory.
file(GLOB TANTU_GPU_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/kernels/*.cu")
file(GLOB TANTU_GPU_HOST_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/gpu/*.cpp")
foreach(SHARD RANGE ${TANTU_LAST_SHARD})
  configure_file("${PROJECT_SOURCE_DIR}/cmake/pointwise_shard.cu.in" "${CMAKE_CURRENT_BINARY_DIR}/pointwise_gpu_${SHARD}.cu" @ONLY)
  list(APPEND TANTU_GPU_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/pointwise_gpu_${SHARD}.cu")
endforeach()
