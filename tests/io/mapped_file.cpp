// SPDX-License-Identifier: MIT
#include <cke/io/mapped_file.hpp>
#include <cstdint>
#include <vector>

#include "damage.hpp"

using cke::io::mapped_file;
using damage::error_of;

TEST_CASE("mapped_file: the bytes of the file, also after a move") {
  const damage::scratch tmp;
  const auto path = tmp.write("f", std::string_view("ab\0c", 4));
  mapped_file first(path);
  CHECK(first.name() == path);
  const auto* at = first.bytes().data();
  mapped_file second(std::move(first));
  CHECK(second.bytes().data() == at);
  mapped_file third(tmp.write("g", "xyz"));
  third = std::move(second);
  REQUIRE(third.bytes().size() == 4);
  CHECK(third.bytes()[3] == std::byte{'c'});
  CHECK(third.name() == path);
}

TEST_CASE("mapped_file: a file that is not one says so") {
  const damage::scratch tmp;
  CHECK(error_of([&] { mapped_file(tmp.dir() + "/none"); }) ==
        tmp.dir() + "/none: expected a readable file, found No such file or directory");
  CHECK(error_of([&] { mapped_file(tmp.dir()); }) == tmp.dir() + ": expected a file, found a directory");
  const auto empty = tmp.write("empty", "");
  CHECK(error_of([&] { mapped_file{empty}; }) == empty + ": expected a file with content, found an empty file");
  const std::string pipe = tmp.dir() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error_of([&] { mapped_file{pipe}; }) == pipe + ": expected a regular file, found a device, pipe or socket");
}

TEST_CASE("mapped_file: dropped pages leave memory and can be read again") {
  const damage::scratch tmp;
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), pages = 64;
  const std::string text(page * pages - 100, 'z');
  const mapped_file file(tmp.write("big", text));
  const auto sum = [&] {
    std::size_t total = 0;
    for (const std::byte b : file.bytes()) total += static_cast<std::size_t>(b);
    return total;
  };
  // Bit 63 of a page's entry: it is in this process's memory.
  const auto present = [&](std::size_t i) {
    const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const auto at = reinterpret_cast<std::uintptr_t>(file.bytes().data()) / page + i;
    std::uint64_t entry = 0;
    REQUIRE(pread(map, &entry, sizeof entry, static_cast<off_t>(at * sizeof entry)) == sizeof entry);
    close(map);
    return (entry >> 63) != 0;
  };
  const auto total = text.size() * 'z';
  REQUIRE(sum() == total);
  REQUIRE(present(3));

  file.drop(file.bytes().subspan(page * 2 + 1, page * 3));  // pages 3 and 4 wholly, 2 and 5 in part
  CHECK(present(2));
  CHECK_FALSE(present(3));
  CHECK_FALSE(present(4));
  CHECK(present(5));
  file.drop(file.bytes().subspan(page * 60));  // up to the end of the file
  CHECK_FALSE(present(63));
  CHECK(sum() == total);

  const mapped_file other(tmp.write("other", text));
  file.drop(other.bytes());  // not a part of this file: nothing happens
  file.drop({});
  CHECK(present(3));
}

TEST_CASE("mapped_file: bytes in memory stay the caller's") {
  const std::vector<std::byte> bytes(9000, std::byte{7});
  const mapped_file file("name", bytes);
  CHECK(file.name() == "name");
  CHECK(file.bytes().data() == bytes.data());
  file.drop(file.bytes());
  CHECK(bytes[5000] == std::byte{7});
}
