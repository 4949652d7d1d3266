# SPDX-License-Identifier: Apache-2.0
# LibTorch as the target headrace::torch, without TorchConfig.cmake: that file demands a CUDA toolkit
# at configure time when the wheel is a CUDA build, and takes seconds. Headers and libc10/libtorch_cpu
# are all that is needed; with a CUDA build, libtorch_cuda and libc10_cuda are linked as well.
#
# HEADRACE_TORCH may name the `torch` folder of a wheel, a LibTorch folder, or a virtual environment;
# by default the one that tools/setup installed is taken.

set(_cache "$ENV{XDG_CACHE_HOME}")
if(NOT _cache)
  set(_cache "$ENV{HOME}/.cache")
endif()

set(_candidates)
if(HEADRACE_TORCH)
  file(GLOB _candidates LIST_DIRECTORIES true
    ${HEADRACE_TORCH} ${HEADRACE_TORCH}/torch ${HEADRACE_TORCH}/lib/python3*/site-packages/torch)
else()
  file(GLOB _candidates LIST_DIRECTORIES true
    ${_cache}/headrace/torch-2.13.0/lib/python3*/site-packages/torch)
endif()

set(HEADRACE_TORCH_DIR "")
foreach(_dir IN LISTS _candidates)
  if(EXISTS ${_dir}/include/ATen/ATen.h AND EXISTS ${_dir}/lib/libtorch_cpu.so)
    set(HEADRACE_TORCH_DIR ${_dir})
  endif()
endforeach()
if(NOT HEADRACE_TORCH_DIR)
  message(FATAL_ERROR
    "LibTorch not found: looked for include/ATen/ATen.h and lib/libtorch_cpu.so under "
    "'${HEADRACE_TORCH}' and '${_cache}/headrace'. Run tools/setup, set HEADRACE_TORCH=/path, "
    "or build the torch-free part with -DHEADRACE_WITH_TORCH=OFF.")
endif()

set(_version "unknown")
if(EXISTS ${HEADRACE_TORCH_DIR}/include/torch/headeronly/version.h)
  set(_version_file ${HEADRACE_TORCH_DIR}/include/torch/headeronly/version.h)
else()
  set(_version_file ${HEADRACE_TORCH_DIR}/include/torch/csrc/api/include/torch/version.h)
endif()
if(EXISTS ${_version_file})
  file(STRINGS ${_version_file} _lines REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" _lines "${_lines}")
  string(REPLACE ";" "." _version "${_lines}")
  if(_version VERSION_LESS 2.7)
    message(FATAL_ERROR "LibTorch at ${HEADRACE_TORCH_DIR} is ${_version}; 2.7 or newer is needed.")
  endif()
endif()
message(STATUS "LibTorch ${_version}: ${HEADRACE_TORCH_DIR}")

add_library(headrace_torch INTERFACE)
add_library(headrace::torch ALIAS headrace_torch)
target_include_directories(headrace_torch SYSTEM INTERFACE
  ${HEADRACE_TORCH_DIR}/include ${HEADRACE_TORCH_DIR}/include/torch/csrc/api/include)
# LibTorch ships headers of a newer {fmt} in its include folder, which win over Debian's there. They
# must not meet Debian's library at link time, so torch targets take {fmt} from headers alone.
target_compile_definitions(headrace_torch INTERFACE FMT_HEADER_ONLY=1)
target_link_directories(headrace_torch INTERFACE ${HEADRACE_TORCH_DIR}/lib)
target_link_libraries(headrace_torch INTERFACE torch torch_cpu c10)
if(EXISTS ${HEADRACE_TORCH_DIR}/lib/libtorch_cuda.so)
  # Registers the CUDA kernels at load time; nothing of ours refers to a symbol in it.
  target_link_options(headrace_torch INTERFACE "LINKER:--no-as-needed")
  target_link_libraries(headrace_torch INTERFACE torch_cuda c10_cuda)
  target_compile_definitions(headrace_torch INTERFACE HEADRACE_TORCH_HAS_CUDA=1)
endif()

# A file that includes LibTorch takes a gigabyte to compile; more at once than fit would swap.
cmake_host_system_information(RESULT _memory QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR _torch_jobs "${_memory} / 2000 + 1")
set_property(GLOBAL APPEND PROPERTY JOB_POOLS headrace_torch=${_torch_jobs})
