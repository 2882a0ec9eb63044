# tantu_core: floor 2, always shared, so that a process has one device registry and one allocator.
# tantu_vgpu, tantu_cuda: the GPU kernels, one library per target. tantu: the floors above.
file(GLOB TANTU_CORE_SOURCES CONFIGURE_DEPENDS core/*.cpp core/memory/*.cpp)
file(GLOB TANTU_SOURCES CONFIGURE_DEPENDS kernels/*.cpp kernels/cpu/*.cpp autograd/*.cpp autograd/ops/*.cpp data/*.cpp
     nn/*.cpp optim/*.cpp dist/*.cpp)
list(TRANSFORM TANTU_SOURCES REPLACE "^${PROJECT_SOURCE_DIR}/" "")
list(FILTER TANTU_SOURCES EXCLUDE REGEX "kernels/gpu/")

function(tantu_library name)
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>"
                                            "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>" "$<INSTALL_INTERFACE:include>")
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE "$<BUILD_INTERFACE:tantu_flags>")
  target_compile_options(${name} PRIVATE -fvisibility-inlines-hidden)
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                           BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
endfunction()

add_library(tantu_core SHARED ${TANTU_CORE_SOURCES})
add_library(tantu::core ALIAS tantu_core)
tantu_library(tantu_core)
set_target_properties(tantu_core PROPERTIES EXPORT_NAME core)
target_link_libraries(tantu_core PUBLIC fmt::fmt PRIVATE Threads::Threads)

include(TantuShards)
if(TANTU_HAS_VGPU)
  add_subdirectory(vgpu)
  add_subdirectory(kernels/gpu/vgpu)
endif()
if(TANTU_HAS_CUDA)
  add_subdirectory(kernels/gpu/cuda)
endif()

add_library(tantu SHARED ${TANTU_SOURCES} ${TANTU_SHARDS})
add_library(tantu::tantu ALIAS tantu)
tantu_library(tantu)
target_link_libraries(tantu PUBLIC tantu_core PRIVATE Threads::Threads ZLIB::ZLIB "$<BUILD_INTERFACE:Eigen3::Eigen>"
                                                      "$<BUILD_INTERFACE:nlohmann_json::nlohmann_json>")
foreach(gpu IN ITEMS vgpu cuda)
  if(TARGET tantu_${gpu})
    # A program that never names the library must still load it: its backend registers itself.
    target_link_libraries(tantu PUBLIC -Wl,--no-as-needed tantu_${gpu} -Wl,--as-needed)
  endif()
endforeach()
