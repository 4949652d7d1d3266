# SPDX-License-Identifier: Apache-2.0
# The libraries of the torch-free folders; all are Debian packages that tools/setup installs.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_path(HEADRACE_RANDOM123 Random123/philox.h REQUIRED)

add_library(headrace_packages INTERFACE)
target_link_libraries(headrace_packages INTERFACE
  Threads::Threads fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11
  tomlplusplus::tomlplusplus OpenSSL::Crypto)
target_include_directories(headrace_packages SYSTEM INTERFACE ${HEADRACE_RANDOM123})
