// SPDX-License-Identifier: MIT
// fake_compiler.hpp: a script in the compiler's place, for what matters around compiling.
#pragma once

#include "command.hpp"

namespace command {

// It knows one unit, that of llama_untied in f32, and "compiles" it by copying the object that the real
// compiler made. $FAKE in its environment makes it misbehave. Every compilation is a line in `calls`.
class fake_compiler {
 public:
  inline static const std::string model = models + "llama_untied";

  explicit fake_compiler(const scratch& dir) : path_(dir / "fake c++"), calls_(dir / "calls"), cache_(dir / "cache") {
    const result made = run_cke({"build", model}), unit = run_cke({"build", model, "--print-unit"});
    REQUIRE_MESSAGE(made.status == 0, show(made));
    write(dir / "known.cpp", unit.out);
    const std::string object = made.out.substr(0, made.out.size() - 1);
    write(path_,
          "#!/bin/sh\n"
          "[ \"$1\" = --version ] && { echo fake 1; exit; }\n"
          "case \" $* \" in *' -dM '*) exit 1 ;; esac\n"  // it has no macros, so units are for any program
          "echo \"$@\" >>'" +
              calls_.string() +
              "'\n"
              "while [ \"$2\" != -o ]; do shift; done\n"
              "case \"$FAKE\" in\n"
              "  slow) sleep 1 ;;\n"
              "  killed) kill -9 $$ ;;\n"
              "  empty) exit 0 ;;\n"
              "  garbage) echo garbage >\"$3\"; exit 0 ;;\n"
              "  chatty) yes 'a line that a compiler wrote' | head -c 20000000; exit 3 ;;\n"
              "esac\n"
              "cmp -s \"$1\" '" +
              (dir / "known.cpp").string() +
              "' || { echo 'unit.cpp:1: error: a unit unknown to me'; exit 1; }\n"
              "cp '" +
              object + "' \"$3\"\n");
    fs::permissions(path_, fs::perms::owner_all);
  }

  setting use(std::string misbehaviour = {}) const {
    return {.variables = {{"CKE_CXX", path_}, {"CKE_CACHE", cache_}, {"FAKE", std::move(misbehaviour)}}};
  }
  result build(std::string misbehaviour = {}) const { return run_cke({"build", model}, use(std::move(misbehaviour))); }
  std::ptrdiff_t calls() const { return std::ranges::count(content(calls_), '\n'); }
  const fs::path& cache() const { return cache_; }

 private:
  fs::path path_, calls_, cache_;
};

}  // namespace command
