# SPDX-License-Identifier: MIT
"""conanfile.py: cke as a header-only Conan package; `conan create .` also builds and runs test_package."""
from os.path import join

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy
from conan.tools.layout import basic_layout

required_conan_version = ">=2.4"


class Cke(ConanFile):
    name = "cke"
    version = "0.1.0"
    description = "Header-only C++20 library that runs language models; a model is a C++ type list"
    license = "MIT"
    topics = ("llm", "inference", "header-only", "simd", "qwen3", "llama")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    default_options = {"boost/*:header_only": True}
    exports_sources = "include/*", "LICENSE"
    no_copy_source = True

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("xsimd/[>=13 <15]", transitive_headers=True)
        self.requires("boost/[>=1.81 <2]", transitive_headers=True)
        self.requires("nlohmann_json/[>=3.11 <4]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()

    def package(self):
        copy(self, "LICENSE", self.source_folder, join(self.package_folder, "licenses"))
        copy(self, "*", join(self.source_folder, "include"), join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.cxxflags = ["-ffp-contract=off"]
        self.cpp_info.system_libs = ["pthread", "dl"]
        self.cpp_info.set_property("cmake_file_name", "cke")
        self.cpp_info.set_property("cmake_target_name", "cke::cke")
