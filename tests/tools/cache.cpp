// SPDX-License-Identifier: MIT
// cache.cpp: the compile cache: what lies in it is executed, so it is the user's own, whole, and made once.
#include "fake_compiler.hpp"

using namespace command;

namespace {

fs::path entry_of(const result& built) { return fs::path(built.out.substr(0, built.out.size() - 1)).parent_path(); }
unsigned mode_of(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); }
bool has_leftovers(const fs::path& cache) {
  return std::ranges::any_of(fs::directory_iterator(cache),
                             [](const auto& e) { return e.path().string().find(".work.") != std::string::npos; });
}

}  // namespace

TEST_CASE("a model is compiled once, into a directory of the user's own") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const result first = compiler.build(), second = compiler.build();
  CHECK(first.status == 0);
  CHECK_SUCCESS(second);
  CHECK(second.out == first.out);
  CHECK(compiler.calls() == 1);
  CHECK(mode_of(compiler.cache()) == 0700);
  CHECK(mode_of(entry_of(first)) == 0700);
  CHECK(mode_of(entry_of(first) / "model.so") == 0600);
}

TEST_CASE("a damaged entry is made again") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const fs::path entry = entry_of(compiler.build()), object = entry / "model.so", sum = entry / "model.so.sha256";
  const std::string good = content(object);
  const auto rebuilt = [&](const char* what, auto damage) {
    damage();
    const auto before = compiler.calls();
    const result r = compiler.build();
    CHECK_MESSAGE(r.status == 0, what << '\n' << show(r));
    CHECK_MESSAGE(compiler.calls() == before + 1, what);
    CHECK_MESSAGE((content(object) == good && !fs::is_symlink(object) && !fs::is_symlink(entry)), what);
  };
  rebuilt("a shorter object", [&] { fs::resize_file(object, fs::file_size(object) / 2); });
  rebuilt("an empty object", [&] { fs::resize_file(object, 0); });
  rebuilt("one other bit", [&] {
    std::string other = good;
    other[other.size() / 2] = static_cast<char>(other[other.size() / 2] ^ 1);
    write(object, other);
  });
  rebuilt("another checksum", [&] { write(sum, std::string(64, '0')); });
  rebuilt("no checksum", [&] { fs::remove(sum); });
  rebuilt("no object", [&] { fs::remove(object); });
  rebuilt("a directory for an object", [&] { fs::remove(object), fs::create_directory(object); });
  rebuilt("a link for an object",
          [&] { fs::rename(object, dir / "elsewhere"), fs::create_symlink(dir / "elsewhere", object); });
  rebuilt("a file for an entry", [&] { fs::remove_all(entry), write(entry, "x"); });
  rebuilt("a link for an entry",
          [&] { fs::rename(entry, dir / "moved"), fs::create_directory_symlink(dir / "moved", entry); });
  CHECK(fs::exists(dir / "moved/model.so"));  // the link was taken away, not what it led to
  rebuilt("an object that others may write", [&] { fs::permissions(object, fs::perms(0622)); });
  rebuilt("an entry that others may write", [&] { fs::permissions(entry, fs::perms(0777)); });
  if (geteuid() == 0) rebuilt("an object of another user", [&] { CHECK(chown(object.c_str(), 12345, 0) == 0); });
}

TEST_CASE("a cache that others could write to is refused") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const auto refused = [&](const fs::path& cache, const char* text) {
    setting s = compiler.use();
    s.variables[1].second = cache;
    CHECK_REFUSED(run_cke({"build", compiler.model}, s), text);
  };
  fs::create_directory(compiler.cache());
  fs::permissions(compiler.cache(), fs::perms(0755));
  refused(compiler.cache(), "mode 0755");
  fs::permissions(compiler.cache(), fs::perms(0700));
  fs::create_directory_symlink(compiler.cache(), dir / "link");
  refused(dir / "link", "something else");
  write(dir / "file", "x");
  refused(dir / "file", "something else");
  refused(dir / "file/below", "Not a directory");
  refused("/proc/cke", "/proc/cke");
  if (geteuid() == 0) {
    CHECK(chown(compiler.cache().c_str(), 12345, 0) == 0);
    refused(compiler.cache(), "one of user 12345");
  }
  CHECK(compiler.calls() == 0);
}

TEST_CASE("where the cache is") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const auto in = [&](const char* variable, const fs::path& value, const fs::path& cache) {
    setting s = compiler.use();
    for (const char* name : {"CKE_CACHE", "XDG_CACHE_HOME", "HOME"}) s.variables.emplace_back(name, "");
    if (*variable) s.variables.emplace_back(variable, value);
    const result r = run_cke({"build", compiler.model}, s);
    if (*variable) CHECK_MESSAGE(r.out.starts_with(cache.string() + '/'), show(r));
    else CHECK_REFUSED(r, "CKE_CACHE, XDG_CACHE_HOME or HOME");
  };
  in("CKE_CACHE", dir / "a", dir / "a");
  in("XDG_CACHE_HOME", dir / "b", dir / "b/cke");
  in("HOME", dir / "c", dir / "c/.cache/cke");
  in("", {}, {});
}

TEST_CASE("CKE_MARCH names the machine to compile for: an entry of its own, and a plain name") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const auto made_for = [&](const char* march) {
    setting s = compiler.use();
    s.variables.emplace_back("CKE_MARCH", march);
    return run_cke({"build", compiler.model}, s);
  };
  const result native = made_for(""), other = made_for("x86-64-v3");
  REQUIRE_MESSAGE(other.status == 0, show(other));
  CHECK(native.out == made_for("native").out);
  CHECK(native.out != other.out);
  CHECK(compiler.calls() == 2);
  for (const char* bad : {"native -o /tmp/x", "a;b", "a\nb", "\xc3\xa4"})
    CHECK_MESSAGE(is_refusal(made_for(bad), 2), bad);
  CHECK(compiler.calls() == 2);
}

#if defined(__x86_64__)
TEST_CASE("CKE_MARCH may not name a machine whose code this one cannot run") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const fs::path other = dir / "other c++";
  write(other,
        "#!/bin/sh\n"
        "case \" $* \" in *' -dM '*) echo '#define __FMA4__ 1'; exit ;; esac\n"  // no cpu of today has it
        "exec '" +
            (dir / "fake c++").string() + "' \"$@\"\n");
  fs::permissions(other, fs::perms::owner_all);
  setting use = compiler.use();
  use.variables[0].second = other;
  CHECK(run_cke({"build", compiler.model}, use).status == 0);  // native is what the compiler takes this machine for
  use.variables.emplace_back("CKE_MARCH", "bdver4");
  CHECK_MISUSED(run_cke({"build", compiler.model}, use),
                "CKE_MARCH: expected a machine whose code this cpu can run, found bdver4, whose code may use fma4");
  CHECK(compiler.calls() == 1);
}
#endif

TEST_CASE("two processes that want the same model compile it once") {
  const scratch dir;
  const fake_compiler compiler(dir);
  process one({"build", compiler.model}, compiler.use("slow")), two({"build", compiler.model}, compiler.use("slow"));
  const result a = one.wait(), b = two.wait();
  CHECK(a.status == 0);
  CHECK(b.status == 0);
  CHECK(a.out == b.out);
  CHECK(compiler.calls() == 1);
}

TEST_CASE("a killed process leaves nothing that stops or misleads the next one") {
  const scratch dir;
  const fake_compiler compiler(dir);
  process first({"build", compiler.model}, compiler.use("slow"));
  while (compiler.calls() == 0) usleep(1000);
  first.send(SIGKILL);
  CHECK(first.wait().signal == SIGKILL);
  CHECK(has_leftovers(compiler.cache()));
  CHECK(compiler.build().status == 0);
  CHECK(!has_leftovers(compiler.cache()));
}

TEST_CASE("a compiler that fails: one line, and the next one may succeed") {
  const scratch dir;
  const fake_compiler compiler(dir);
  CHECK_REFUSED(compiler.build("killed"), "exit status 137");
  CHECK_REFUSED(compiler.build("chatty"), "exit status 3");
  CHECK_REFUSED(compiler.build("empty"), "a shared object that can be opened");
  CHECK_REFUSED(compiler.build("garbage"), "model.so");
  const result other = run_cke({"build", models + "llama_tied"}, compiler.use());
  CHECK_REFUSED(other, "exit status 1; error: a unit unknown to me");
  const std::string log = other.err.substr(12, other.err.find(".log") - 8);
  CHECK_MESSAGE(content(log).find("using model = cke::llama<") != std::string::npos, log);
  CHECK(!has_leftovers(compiler.cache()));
  CHECK(compiler.build().status == 0);

  setting none = compiler.use();
  none.variables[0].second = dir / "no such compiler";
  CHECK_REFUSED(run_cke({"build", compiler.model}, none), "set CKE_CXX");
  CHECK_REFUSED(run_cke({"build", compiler.model}, none), "pip install 'cke[compiler]'");
  none.variables[0].second = dir / "";
  CHECK_REFUSED(run_cke({"build", compiler.model}, none), "C++ compiler");
}

TEST_CASE("CKE_CXX may have words after the program, whose path may have spaces") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const fs::path driver = dir / "many languages";
  write(
      driver,
      "#!/bin/sh\n[ \"$1 $2\" = 'c++ -Wall' ] || exit 9\nshift 2\nexec '" + (dir / "fake c++").string() + "' \"$@\"\n");
  fs::permissions(driver, fs::perms::owner_all);
  setting use = compiler.use();
  use.variables[0].second = driver.string() + " c++  -Wall";
  const result made = run_cke({"build", compiler.model}, use);
  CHECK_MESSAGE(made.status == 0, show(made));
  CHECK(compiler.calls() == 1);
  use.variables[0].second = driver.string() + " fortran";
  CHECK_REFUSED(run_cke({"build", compiler.model}, use), "exit status 9");
}

TEST_CASE("a full disk is one line") {
  const scratch dir;
  const fake_compiler compiler(dir);
  setting full = compiler.use();
  for (const rlim_t bytes : {0u, 100u, 1000u, 20000u}) {
    full.file_size = bytes;
    CHECK_REFUSED(run_cke({"build", compiler.model}, full), "");
    CHECK(!has_leftovers(compiler.cache()));
  }
  CHECK(compiler.build().status == 0);
}
