# A relocatable install: libraries, headers as they are spelt in source, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TANTU_TARGETS tantu tantu_core)
if(TANTU_HAS_VGPU)
  list(APPEND TANTU_TARGETS tantu_vgpu tantu_vgpu_runtime)
  set_target_properties(tantu_vgpu_runtime PROPERTIES EXPORT_NAME vgpu_runtime INSTALL_RPATH "$ORIGIN")
endif()
if(TANTU_HAS_CUDA)
  list(APPEND TANTU_TARGETS tantu_cuda)
endif()
install(TARGETS ${TANTU_TARGETS} EXPORT tantuTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# Public headers only: no look-alike CUDA headers (vgpu/), no kernels' insides but what the operations' headers include.
install(FILES tantu.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tantu)
foreach(folder core core/memory autograd autograd/ops data nn optim dist)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tantu/${folder})
endforeach()
file(GLOB kernel_headers CONFIGURE_DEPENDS kernels/*.h kernels/pointwise.def)
install(FILES ${kernel_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tantu/kernels)
install(FILES "${PROJECT_BINARY_DIR}/generated/tantu/config.h" "${PROJECT_BINARY_DIR}/generated/tantu/version.h"
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tantu)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tantu)
install(EXPORT tantuTargets NAMESPACE tantu:: DESTINATION ${package_folder})
configure_package_config_file(cmake/tantuConfig.cmake.in "${PROJECT_BINARY_DIR}/tantuConfig.cmake" INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tantuConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tantuConfig.cmake" "${PROJECT_BINARY_DIR}/tantuConfigVersion.cmake" DESTINATION ${package_folder})

configure_file(cmake/tantu.pc.in "${PROJECT_BINARY_DIR}/tantu.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tantu.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the tantu authors <tantu@localhost>")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libfmt-dev, zlib1g")
include(CPack)
