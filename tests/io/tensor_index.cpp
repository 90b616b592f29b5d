// SPDX-License-Identifier: MIT
#include <cke/io/tensor_index.hpp>

#include "damage.hpp"

using cke::io::tensor_index;
using cke::io::tensor_ref;

static std::shared_ptr<const cke::io::mapped_file> file(const char* name) {
  return std::make_shared<const cke::io::mapped_file>(name, std::span<const std::byte>{});
}
static tensor_ref named(const char* name, std::shared_ptr<const cke::io::mapped_file> in = file("one")) {
  return {name, cke::dtype::f32, "F32", {1}, {}, std::move(in)};
}

TEST_CASE("tensor_index: finds by name, in the order of names") {
  const tensor_index index({named("b"), named("a.weight"), named("c", file("two")), named("a")});
  REQUIRE(index.tensors().size() == 4);
  CHECK(index.tensors()[1].name == "a.weight");
  REQUIRE(index.find("c") != nullptr);
  CHECK(index.find("c")->file->name() == "two");
  CHECK(index.find("a")->name == "a");
  CHECK(index.find("") == nullptr);
  CHECK(index.find("a.") == nullptr);
  CHECK(index.find("d") == nullptr);
  CHECK(tensor_index().find("a") == nullptr);
}

TEST_CASE("tensor_index: a name occurs once") {
  CHECK(damage::error_of([] { tensor_index({named("b"), named("x"), named("b", file("two"))}); }) ==
        "one: tensor b: expected one tensor of this name, found another in two");
}

TEST_CASE("tensor_index: keeps the files mapped, and drops the pages of a tensor") {
  const damage::scratch tmp;
  auto map = std::make_shared<const cke::io::mapped_file>(tmp.write("f", std::string(9000, 'q')));
  const std::weak_ptr<const cke::io::mapped_file> alive = map;
  {
    tensor_ref t = named("t", map);
    t.bytes = std::exchange(map, nullptr)->bytes().subspan(100);
    const tensor_index index({std::exchange(t, {})});
    const tensor_index copy = index;
    copy.drop(0, copy.tensors()[0].bytes);
    CHECK(copy.tensors()[0].bytes.back() == std::byte{'q'});
    CHECK_FALSE(alive.expired());
  }
  CHECK(alive.expired());
}
