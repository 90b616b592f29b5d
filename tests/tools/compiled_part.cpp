// SPDX-License-Identifier: MIT
// compiled_part.cpp: models compiled against the command's compiled part: the same bits, and all of a model where it
// does not fit.
#include <dlfcn.h>

#include "command.hpp"

namespace compiled_part_test {

using namespace command;

namespace {

// A cache of its own, and the compiler behind a script that counts what it links, may begin with a line of mischief,
// and adds options: -O0 where it does not matter how fast the model is.
class workshop {
 public:
  explicit workshop(const scratch& dir, const std::string& mischief = {}, const std::string& options = {})
      : folder_(dir / "w") {
    fs::create_directory(folder_);
    write(folder_ / "c++",
          "#!/bin/sh\n" + mischief + "\ncase \" $* \" in *' -shared '*) echo \"$@\" >>'" +
              (folder_ / "calls").string() + "' ;; esac\nexec " CKE_CXX " \"$@\" " + options + "\n");
    fs::permissions(folder_ / "c++", fs::perms::owner_all);
    use = {.variables = {{"CKE_CXX", folder_ / "c++"}, {"CKE_CACHE", folder_ / "cache"}}};
  }

  std::vector<std::string> run(const std::string& model) const {
    return {"run", model, "--tokens", "5,6,7", "-n", "8", "--temp", "0", "--ids", "-t", "4"};
  }
  std::string logits(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{
        "logits", model, "--tokens", "5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22", "-o", folder_ / "logits.npy"};
    words.insert(words.end(), more.begin(), more.end());
    CHECK_SUCCESS(run_cke(words, use));
    return content(folder_ / "logits.npy");
  }
  std::ptrdiff_t calls() const { return std::ranges::count(content(folder_ / "calls"), '\n'); }
  std::vector<fs::path> objects() const {
    std::vector<fs::path> all;
    for (const auto& e : fs::recursive_directory_iterator(folder_ / "cache"))
      if (e.path().filename() == "model.so") all.push_back(e.path());
    return all;
  }

  setting use;

 private:
  fs::path folder_;
};

// Empty where any program can load it, else what the loader says.
std::string refusal(const fs::path& object) {
  void* const handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return dlerror();
  dlclose(handle);
  return {};
}

const std::string model = models + "llama_untied";

}  // namespace

#ifdef CKE_COMPILED_PART

TEST_CASE("a model compiled for the command takes from it what no model shapes, and has the same bits") {
  struct one {
    std::string path;
    std::vector<std::string> options;
  };
  for (const one& m : {one{model, {}}, one{models + "qwen3_bf16", {}}, one{tiny, {"--format", "q8_0"}},
                       one{CKE_TEST_DATA "/families/nemotron_h_experts", {"--format", "f16"}}}) {
    CAPTURE(m.path);
    const scratch dir, other;
    const workshop part(dir), whole(other);
    std::vector<std::string> build{"build", m.path};
    build.insert(build.end(), m.options.begin(), m.options.end());
    CHECK(run_cke(build, whole.use).status == 0);
    const std::string bits = whole.logits(m.path, m.options);
    CHECK(whole.calls() == 1);  // what was built ahead serves the command
    CHECK(refusal(whole.objects().at(0)).empty());
    CHECK(part.logits(m.path, m.options) == bits);
    CHECK(part.logits(m.path, m.options) == bits);
    CHECK(part.calls() == 1);
    REQUIRE(part.objects().size() == 1);
    CHECK_MESSAGE(refusal(part.objects()[0]).find("undefined symbol: _Z") != std::string::npos,
                  refusal(part.objects()[0]));
  }
}

// Otherwise its first use would take several times as long, and nothing else would tell.
TEST_CASE("a unit of any family, and of any format, finds all of its kernels in the command") {
  const scratch dir;
  const workshop w(dir, "case \" $* \" in *' -DCKE_COMPILED_KERNELS_ONLY '*) ;; *' -shared '*) exit 1 ;; esac", "-O0");
  std::vector<std::vector<std::string>> all;
  for (const auto& e : fs::directory_iterator(CKE_TEST_DATA "/families"))
    if (e.is_directory()) all.push_back({e.path()});
  CHECK(all.size() > 25);
  for (const char* const format : {"f32", "f16", "bf16", "q8_0", "i8", "i4"}) all.push_back({tiny, "--format", format});
  for (const char* const format : {"q4_0", "q4_k_m", "q5_k_m", "q6_k"}) {
    const std::string file = dir / (std::string(format) + ".gguf");
    const result made = run_cke({"quantize", tiny, file, "--to", format});
    CHECK_SUCCESS(made);
    all.push_back({file});
  }
  for (const auto& model : all) {
    CAPTURE(model);
    std::vector<std::string> words{"inspect", "--plan"};
    words.insert(words.end(), model.begin(), model.end());
    const result plan = run_cke(words, w.use);
    CHECK_MESSAGE(plan.status == 0, plan.err);
  }
}

TEST_CASE("what does not fit the compiled part is compiled as a whole") {
  const auto is_whole = [](const char* why, const std::string& mischief, auto change) {
    CAPTURE(why);
    const scratch dir;
    workshop w(dir, mischief, "-O0");
    change(w, dir);
    CHECK_SUCCESS(run_cke(w.run(model), w.use));
    REQUIRE(w.objects().size() == 1);
    CHECK_MESSAGE(refusal(w.objects()[0]).empty(), refusal(w.objects()[0]));
    CHECK(w.calls() == 1);
  };
  is_whole("another machine", {},
           [](workshop& w, const scratch&) { w.use.variables.emplace_back("CKE_MARCH", "x86-64-v3"); });
  is_whole("another compiler", "case \" $* \" in *' -dM '*) echo '#define ANOTHER 1' ;; esac",
           [](workshop&, const scratch&) {});
  is_whole("other headers", {}, [](workshop& w, const scratch& dir) {
    fs::copy(CKE_HEADERS, dir / "include", fs::copy_options::recursive);
    write(dir / "include/cke/core/types.hpp", content(dir / "include/cke/core/types.hpp") + "// changed\n");
    w.use.variables.emplace_back("CKE_INCLUDE", (dir / "include").string() + ":" CKE_XSIMD);
  });
}

TEST_CASE("where a unit that wants the compiled part does not come to be, all of the model is compiled") {
  const char* const cases[][2] = {
      {"a compiler that fails", "case \" $* \" in *' -DCKE_COMPILED '*) exit 1 ;; esac"},
      {"an object that wants a function which this command lacks",
       "case \" $* \" in *' -DCKE_COMPILED '*) while [ \"$2\" != -o ]; do shift; done; out=$3;\n"
       "  echo 'namespace cke { void gone(); } extern \"C\" void cke_model_load() { cke::gone(); }' | " CKE_CXX
       " -shared -fPIC -x c++ - -o \"$out\"; exit ;; esac"}};
  for (const auto& [why, mischief] : cases) {
    CAPTURE(why);
    const scratch dir;
    const workshop w(dir, mischief, "-O0");
    const result first = run_cke(w.run(model), w.use), second = run_cke(w.run(model), w.use);
    CHECK_SUCCESS(first);
    CHECK_SUCCESS(second);
    CHECK(first.out == second.out);
    CHECK(w.calls() == 1);  // of the second run none
  }
}

// Half of a wait for an atomic is in the unit, half in the command: both must know of the same waiters
// (compiled/exported.txt).
TEST_CASE("threads of a model wake one another across the unit and the command") {
  const scratch dir;
  workshop w(dir);
  w.use.seconds = 60;
  for (int i = 0; i < 5; ++i) CHECK_SUCCESS(run_cke(w.run(model), w.use));
}

TEST_CASE("two processes that want the same model for the first time compile it once") {
  const scratch dir;
  const workshop w(dir, "case \" $* \" in *' -shared '*) sleep 1 ;; esac");
  process one(w.run(model), w.use), two(w.run(model), w.use);
  const result a = one.wait(), b = two.wait();
  CHECK_SUCCESS(a);
  CHECK_SUCCESS(b);
  CHECK(a.out == b.out);
  CHECK(w.calls() == 1);
}

TEST_CASE("what lies in a cache that cannot be written to is used") {
  const scratch dir;
  workshop w(dir);
  const result first = run_cke(w.run(model), w.use);
  CHECK_SUCCESS(first);
  w.use.file_size = 0;
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  w.use.output = null;
  CHECK_SUCCESS(run_cke(w.run(model), w.use));
  close(null);
  CHECK(w.calls() == 1);
}

#else

TEST_CASE("without a compiled part every unit is whole") {
  const scratch dir;
  const workshop w(dir);
  CHECK_SUCCESS(run_cke(w.run(model), w.use));
  REQUIRE(w.objects().size() == 1);
  CHECK(refusal(w.objects()[0]).empty());
}

#endif

}  // namespace compiled_part_test
