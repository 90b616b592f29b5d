// SPDX-License-Identifier: MIT
// machine_features.cpp: which features compilers' code may use, and which of them a cpu lacks.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "../../tools/cke/cpu_features.cpp"  // of a library whose other files this program does not need
#include "../../tools/cke/feature_names.hpp"

namespace machine_features_test {

using cke::tool::cpu_words, cke::tool::features_in, cke::tool::features_of_code, cke::tool::features_of_cpu,
    cke::tool::lacking;

static_assert(features_in({}) == 0);

TEST_CASE("machine features: what a compiler predefines says what its code may use") {
  CHECK(features_of_code("") == "");
  CHECK(features_of_code("#define __AVX2__ 1\n") == "avx2");
  CHECK(features_of_code("#define X 1\n#define __AVX__ 1\n#define __SSE4_2__ 1\n") == "sse4.2 avx");
  CHECK(features_of_code("#define __AVX2__ 0\n#define __AVX512F__\n#define X__FMA__ 1\n#define __AES__ 1\n") == "");
  // g++ never uses it unasked.
  CHECK(features_of_code("#define __SSE4A__ 1\n#define __BMI__ 1\n") == "bmi");
  CHECK(features_of_code("#define __SSE4A__ 1\n#define __BMI__ 1\n#define __clang__ 1\n") == "sse4a bmi");
}

TEST_CASE("machine features: what a cpu lacks is named, and so is what this program does not know") {
  cpu_words words{.c1 = ~0u, .b7 = ~0u, .c7 = ~0u, .d7 = ~0u, .a7_1 = ~0u, .d7_1 = ~0u, .c_amd = ~0u, .avx10 = ~0u};
  const std::string_view some = "sse4.2 gfni bmi2 avx fma avx512f avx512fp16 avx10.2 apxf";
  const auto lacks = [&](cke::u64 saved) {
    words.saved_registers = saved;
    return lacking(some, features_in(words));
  };
  // A system that does not save registers takes the features away that use them.
  CHECK(lacks(0x3) == "avx, fma, avx512f, avx512fp16, avx10.2, apxf");
  CHECK(lacks(0x7) == "avx512f, avx512fp16, avx10.2, apxf");
  CHECK(lacks(0xe7) == "apxf");
  CHECK(lacks(0x800e7) == "");
  words.d7 = 0, words.avx10 = 0b11;
  CHECK(lacks(0x800e7) == "avx512fp16, avx10.2");
  CHECK(lacking("", 0) == "");
  CHECK(lacking("avx2 avx", 0) == "avx2, avx");
  CHECK(lacking("avx3 avx", ~cke::u64{0}) == "avx3");
}

#if defined(__x86_64__)

TEST_CASE("machine features: this cpu has what the compiler's own functions say") {
  __builtin_cpu_init();
#define CKE_ASKED(name) {name, __builtin_cpu_supports(name)}
  const std::pair<const char*, int> all[]{
      CKE_ASKED("sse3"),
      CKE_ASKED("ssse3"),
      CKE_ASKED("sse4.1"),
      CKE_ASKED("sse4.2"),
      CKE_ASKED("pclmul"),
      CKE_ASKED("popcnt"),
      CKE_ASKED("lzcnt"),
      CKE_ASKED("sse4a"),
      CKE_ASKED("bmi"),
      CKE_ASKED("bmi2"),
      CKE_ASKED("gfni"),
      CKE_ASKED("avx"),
      CKE_ASKED("f16c"),
      CKE_ASKED("fma"),
      CKE_ASKED("avx2"),
      CKE_ASKED("xop"),
      CKE_ASKED("fma4"),
      CKE_ASKED("avxvnni"),
      CKE_ASKED("avx512f"),
      CKE_ASKED("avx512dq"),
      CKE_ASKED("avx512cd"),
      CKE_ASKED("avx512bw"),
      CKE_ASKED("avx512vl"),
      CKE_ASKED("avx512ifma"),
      CKE_ASKED("avx512vbmi"),
      CKE_ASKED("avx512vbmi2"),
      CKE_ASKED("avx512vnni"),
      CKE_ASKED("avx512bitalg"),
      CKE_ASKED("avx512bf16"),
      CKE_ASKED("avx512fp16"),
      CKE_ASKED("avx512vpopcntdq"),
  };
#undef CKE_ASKED
  for (const auto& one : all)
    CHECK_MESSAGE(lacking(one.first, features_of_cpu()).empty() == (one.second != 0), one.first);
}

TEST_CASE("machine features: machines by their names, and this one, which has what it compiles for") {
  const auto of = [](const std::string& march) {
    std::FILE* const said = ::popen((CKE_CXX " -march=" + march + " -dM -E -x c++ /dev/null 2>/dev/null").c_str(), "r");
    REQUIRE(said != nullptr);
    std::string all;
    char part[4096];
    for (std::size_t n; (n = std::fread(part, 1, sizeof part, said)) > 0;) all.append(part, n);
    REQUIRE(::pclose(said) == 0);
    return features_of_code(all);
  };
  // What b has and a lacks.
  const auto beyond = [&](const std::string& a, const std::string& b) {
    const std::string known = ' ' + of(a) + ' ';
    cke::u64 has = 0;
    for (std::size_t row = 0; row < std::size(cke::tool::machine_features); ++row)
      if (known.find(cke::concat({" ", cke::tool::machine_features[row].name, " "})) != known.npos)
        has |= cke::u64{1} << row;
    return lacking(of(b), has);
  };
  CHECK(of("x86-64") == "");
  CHECK(beyond("x86-64", "x86-64-v2") == "sse3, ssse3, sse4.1, sse4.2, popcnt, cx16, sahf");
  CHECK(beyond("x86-64-v2", "x86-64-v3") == "movbe, lzcnt, bmi, bmi2, avx, f16c, fma, avx2");
  CHECK(beyond("x86-64-v3", "x86-64-v4") == "avx512f, avx512dq, avx512cd, avx512bw, avx512vl");
  CHECK(beyond("x86-64-v4", "skylake-avx512") == "pclmul");
  CHECK(beyond("skylake-avx512", "icelake-server") ==
        "gfni, avx512ifma, avx512vbmi, avx512vbmi2, avx512vnni, avx512bitalg, avx512vpopcntdq");
  CHECK(beyond("icelake-server", "sapphirerapids") == "avxvnni, avx512bf16, avx512fp16");
  CHECK(lacking(of("native"), features_of_cpu()) == "");
}

#endif

}  // namespace machine_features_test
