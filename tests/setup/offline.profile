# A Conan profile that needs no remote: what is on the machine stands for Conan Center's packages.
# CKE_XSIMD is the folder that holds xsimd/xsimd.hpp.
[settings]
os=Linux
arch=x86_64
build_type=Debug
compiler=gcc
compiler.version={{ detect_api.detect_default_compiler()[1].major }}
compiler.libcxx=libstdc++11
compiler.cppstd=20

[platform_requires]
xsimd/14.1.0
boost/1.81.0
nlohmann_json/3.11.2

[conf]
tools.cmake.cmaketoolchain:generator=Ninja
tools.cmake.cmaketoolchain:user_presets=
tools.cmake.cmake_layout:test_folder=$TMP
tools.build:cxxflags=["-march=native", "-isystem", "{{ os.environ["CKE_XSIMD"] }}"]
