message(STATUS "tantu ${PROJECT_VERSION}  type=${CMAKE_BUILD_TYPE} native=${TANTU_NATIVE} sanitize=${TANTU_SANITIZE}")
message(STATUS "  fmt ${fmt_VERSION} | Eigen ${Eigen3_VERSION} | json ${nlohmann_json_VERSION} | zlib ${ZLIB_VERSION_STRING}")
message(STATUS "  vgpu ${TANTU_HAS_VGPU} | cuda ${TANTU_HAS_CUDA} (${TANTU_NVCC})")
