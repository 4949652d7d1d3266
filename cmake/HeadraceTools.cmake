# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers, and the faster compiler cache and linker where they are installed.

set(HEADRACE_SANITIZE "" CACHE STRING "Sanitizers for every target, such as address,undefined or thread")

add_library(headrace_flags INTERFACE)
target_compile_options(headrace_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of overlapping copies inside std::string that cannot happen (GCC bug 105651).
  target_compile_options(headrace_flags INTERFACE -Wno-restrict)
endif()
target_include_directories(headrace_flags INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
if(HEADRACE_SANITIZE)
  add_compile_options(-fsanitize=${HEADRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HEADRACE_SANITIZE})
endif()

find_program(HEADRACE_CCACHE ccache)
if(HEADRACE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEADRACE_CCACHE})
endif()
find_program(HEADRACE_MOLD mold)
if(HEADRACE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
