// SPDX-License-Identifier: MIT
#include <cke/io/safetensors.hpp>

#include "damage.hpp"

namespace safetensors_test {

using cke::dtype;
using cke::u64;
using damage::error_of;

// A file of a header and `size` bytes of data.
static std::string file_of(std::string_view header, std::size_t size) {
  const u64 n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), sizeof n) + std::string(header) + std::string(size, 'd');
}
static cke::io::tensor_index parse(const std::string& file) {
  return cke::io::parse_safetensors(std::as_bytes(std::span(file)), "f");
}
static std::string error_in(std::string_view header, std::size_t size) {
  const std::string file = file_of(header, size);
  const exercise::exact_copy bytes(file.data(), file.size());
  return error_of([&] { cke::io::parse_safetensors(bytes, "f"); });
}

template <class T> static T at(const cke::io::tensor_ref& t, std::size_t i) {
  return cke::io::detail::load<T>(t.bytes.data() + i * sizeof(T));
}

TEST_CASE("safetensors: a file of the reference implementation") {
  const auto path = damage::fixture("single/model.safetensors");
  const auto index = cke::io::read_safetensors(path);
  REQUIRE(index.tensors().size() == 5);

  const auto& w = *index.find("w");
  CHECK(w.type == dtype::f32);
  CHECK(w.stored == "F32");
  CHECK(w.shape == cke::tensor_shape{3, 5});
  REQUIRE(w.bytes.size() == 60);
  for (std::size_t i = 0; i < 15; ++i) CHECK(at<float>(w, i) == static_cast<float>(i) / 4 - 3);
  CHECK(w.file->name() == path);

  const auto& h = *index.find("h");
  CHECK(h.type == dtype::f16);
  REQUIRE(h.bytes.size() == 14);
  for (std::size_t i = 0; i < 7; ++i) CHECK(cke::from_f16(at<cke::u16>(h, i)) == static_cast<float>(i) / 4 - 3);

  const auto& steps = *index.find("steps");  // no dimensions, and not a type to compute with
  CHECK(steps.type == dtype::none);
  CHECK(steps.stored == "I64");
  CHECK(steps.shape.empty());
  CHECK(at<cke::i64>(steps, 0) == 41);
  CHECK(index.find("mask")->stored == "BOOL");
  CHECK(index.find("nothing")->shape == cke::tensor_shape{0, 4});
  CHECK(index.find("nothing")->bytes.empty());
}

TEST_CASE("safetensors: small and odd files that are right") {
  CHECK(parse(file_of("{}", 0)).tensors().empty());
  CHECK(parse(file_of(R"({"__metadata__":{}})", 0)).tensors().empty());
  CHECK(parse(file_of("{}      ", 0)).tensors().empty());  // writers pad with spaces
  const auto bf = parse(file_of(R"({"a\"b":{"data_offsets":[0,2],"dtype":"BF16","shape":[1]}})", 2));
  CHECK(bf.find("a\"b")->type == dtype::bf16);
  const auto six = parse(file_of(R"({"x":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})", 3));
  CHECK(six.find("x")->stored == "F6_E2M3");
}

TEST_CASE("safetensors: bad headers") {
  struct bad {
    const char* header;
    std::size_t data;
    const char* message;
  };
  const bad cases[] = {
      // sizes that wrap or do not agree
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
       "f: a: expected dimensions whose product fits in 64 bits, found 4611686018427387904"},
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "f: a: expected dimensions whose product fits in 64 bits, found 4294967296"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,0]}})", 0,
       "f: a: shape: expected another kind of value, found 18446744073709551616"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
       "f: a: expected 8 bytes for this dtype and shape, found data_offsets 0 to 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
       "f: a: expected 4 bytes for this dtype and shape, found data_offsets 4 to 0"},
      {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2, "f: a: expected whole bytes, found 12 bits"},
      // places
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3,
       "f: tensor a: expected data that ends by 3, found 4"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[18446744073709551611,18446744073709551615]}})", 4,
       "f: tensor a: expected data that starts where the tensor before it ends, at 0, found "
       "18446744073709551611"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5,
       "f: data: expected 4 bytes, the end of the last tensor, found 5"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
       6, "f: tensor b: expected data that starts where the tensor before it ends, at 4, found 2"},
      {R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[5,7]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       7, "f: tensor b: expected data that starts where the tensor before it ends, at 4, found 5"},
      // names
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       2, "f: a: expected one value of \"a\", found two"},
      {R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1,
       "f: a: data_offsets: expected one value of \"dtype\", found two"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "f: __metadata__: k: expected one value of \"k\", found two"},
      {R"({"__metadata__":{"k":1}})", 0, "f: __metadata__: k: expected another kind of value, found 1"},
      {R"({"__metadata__":{"dtype":[]}})", 0, "f: __metadata__: dtype: expected another kind of value, found an array"},
      // fields
      {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4,
       "f: a: expected a dtype of the format, found F31"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "f: a: expected dtype, shape and data_offsets, found fewer"},
      {R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "f: a: expected dtype, shape and data_offsets, found fewer"},
      {R"({"a":{"dtype":"U8","shape":[1]}})", 1, "f: a: expected dtype, shape and data_offsets, found fewer"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{}})", 1,
       "f: b: expected dtype, shape and data_offsets, found fewer"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1, "f: a: expected two data_offsets, found 3"},
      {R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1,
       "f: a: shape: expected at most 8 numbers, found more"},
      {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1,
       "f: a: shape: expected another kind of value, found -1"},
      {R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1,
       "f: a: shape: expected another kind of value, found an array"},
      {R"({"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})", 1,
       "f: a: shape: expected another kind of value, found a string"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"extra":"x"}})", 1,
       "f: a: extra: expected another kind of value, found a string"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"extra":[]}})", 1,
       "f: a: extra: expected another kind of value, found an array"},
      {R"({"a":{"dtype":{},"shape":[1],"data_offsets":[0,1]}})", 1,
       "f: a: dtype: expected another kind of value, found an object"},
      {R"({"a":{"dtype":"U8","shape":3,"data_offsets":[0,1]}})", 1,
       "f: a: shape: expected another kind of value, found 3"},
      {R"({"a":"text"})", 0, "f: a: expected another kind of value, found a string"},
      {R"({"a":7})", 0, "f: a: expected another kind of value, found 7"},
      {R"({"a":[]})", 0, "f: a: expected another kind of value, found an array"},
      {R"([])", 0, "f: expected a JSON object from the first byte on, found something else"},
      {"", 0, "f: expected a JSON object from the first byte on, found something else"},
  };
  for (const bad& c : cases) CHECK(error_in(c.header, c.data) == c.message);
}

TEST_CASE("safetensors: a length that is not that of the header") {
  const auto with_length = [](u64 n, const std::string& rest) {
    const std::string file = std::string(reinterpret_cast<const char*>(&n), sizeof n) + rest;
    return error_of([&] { parse(file); });
  };
  CHECK(with_length(3, "{}") == "f: header: expected a length up to 2, found 3");
  CHECK(with_length(~u64{0}, "{}") == "f: header: expected a length up to 2, found 18446744073709551615");
  CHECK(with_length(~u64{0} - 7, "{}") == "f: header: expected a length up to 2, found 18446744073709551608");
  CHECK(with_length(1, "{}") == "f: expected JSON, found \"{\" at byte 2");
  CHECK(error_of([] { parse("1234567"); }) == "f: header: expected 8 bytes of length, found 7");
  CHECK(error_of([] { parse(""); }) == "f: header: expected 8 bytes of length, found 0");
}

TEST_CASE("safetensors: cut files are errors, flipped bits are errors or files") {
  const auto parse_all = [](std::span<const std::byte> bytes) {
    exercise::all(cke::io::parse_safetensors(bytes, "f"));
  };
  for (const char* name : {"single/model.safetensors", "sharded/model-00001-of-00002.safetensors"}) {
    const std::string whole = damage::content(damage::fixture(name));
    CHECK(damage::shortest_accepted(whole, parse_all) == whole.size());
    CHECK(damage::flips_accepted(whole, parse_all) < whole.size() * 8);
  }
}

}  // namespace safetensors_test
