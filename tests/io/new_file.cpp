// SPDX-License-Identifier: MIT
// new_file.cpp: tests of io/new_file.hpp.
#include <cke/io/new_file.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "../text/fixtures.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
namespace fs = std::filesystem;

namespace {

struct folder {
  fs::path path = fs::temp_directory_path() / ("cke-new-file-" + std::to_string(::getpid()));
  folder() { fs::create_directory(path); }
  ~folder() { fs::remove_all(path); }
  std::string file() const { return path / "file"; }
  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {})); }
};
std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(new_file& to, std::string_view text) { to.write(std::as_bytes(std::span(text))); }

}  // namespace

TEST_CASE("new file: it is there when it is complete, with the permissions of any file") {
  const folder in;
  {
    new_file f(in.file(), 5);
    write(f, "hel");
    CHECK_FALSE(fs::exists(in.file()));
    CHECK(in.entries() <= 1);
    write(f, "lo");
    f.commit();
  }
  CHECK(content(in.file()) == "hello");
  CHECK(in.entries() == 1);
  std::ofstream(in.path / "other") << "x";
  CHECK(fs::status(in.file()).permissions() == fs::status(in.path / "other").permissions());
}

TEST_CASE("new file: one that may be replaced is what it was until the new one is complete") {
  const folder in;
  std::ofstream(in.file()) << "old";
  {
    new_file f(in.file(), 3, new_file::existing::replaced);
    write(f, "new");
    CHECK(content(in.file()) == "old");
    f.commit();
  }
  CHECK(content(in.file()) == "new");
  {
    new_file f(in.file(), 3, new_file::existing::replaced);
    write(f, "x");
  }
  CHECK(content(in.file()) == "new");
  CHECK(in.entries() == 1);
  CHECK(fixtures::error_of([&] {
          new_file(in.path, 0, new_file::existing::replaced);
        }).find("expected a file, or nothing, to be replaced") != std::string::npos);
}

TEST_CASE("new file: nothing stays of one that was not finished") {
  const folder in;
  {
    new_file f(in.file(), 0, new_file::existing::replaced);
    write(f, "half");
    CHECK(in.entries() == 1);
  }
  CHECK(in.entries() == 0);
  {
    new_file f(in.file(), 0);
    write(f, "half");
  }
  CHECK(in.entries() == 0);
}

TEST_CASE("new file: a name that is taken stays what it is, also when it was taken meanwhile") {
  const folder in;
  new_file f(in.file(), 0);
  write(f, "new");
  std::ofstream(in.file()) << "old";
  CHECK(fixtures::error_of([&] { new_file(in.file(), 0); }).find("expected a name that is free") != std::string::npos);
  CHECK(fixtures::error_of([&] { f.commit(); }).find("File exists") != std::string::npos);
  CHECK(content(in.file()) == "old");
  CHECK(in.entries() == 1);
}

TEST_CASE("new file: what a process of the same number left when it was killed is not in the way") {
  const folder in;
  const std::string before = in.file() + ".partial-" + std::to_string(::getpid());
  const std::string left[] = {before, before + "-0", before + "-1"};
  for (const std::string& name : left) std::ofstream(name) << "half";
  {
    new_file f(in.file(), 3, new_file::existing::replaced);
    write(f, "new");
    f.commit();
  }
  CHECK(content(in.file()) == "new");
  for (const std::string& name : left) CHECK(content(name) == "half");
  CHECK(in.entries() == 4);
}

TEST_CASE("new file: no room, no folder") {
  const folder in;
  CHECK_FALSE(fixtures::error_of([&] { new_file(in.file(), u64{1} << 62); }).empty());
  CHECK(in.entries() == 0);
  CHECK(fixtures::error_of([&] { new_file(in.path / "none" / "file", 0); }).find("No such file") != std::string::npos);
}
