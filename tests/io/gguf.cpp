// SPDX-License-Identifier: MIT
#include <cke/io/gguf.hpp>

#include "damage.hpp"

using cke::dtype;
using cke::i32;
using cke::i64;
using cke::u32;
using cke::u64;
using cke::u8;
using cke::io::gguf;
using damage::error_of;
using std::string_view;

namespace {

// Writes what a GGUF file is made of, right or wrong.
struct writer {
  std::string out;

  template <class T> writer& number(T x) {
    out.append(reinterpret_cast<const char*>(&x), sizeof x);
    return *this;
  }
  writer& text(string_view s) {
    number(u64{s.size()}).out += s;
    return *this;
  }
  template <class T> writer& value(string_view key, u32 type, T x) { return text(key).number(type).number(x); }
  writer& tensor(string_view name, std::initializer_list<u64> dims, u32 type, u64 offset) {
    text(name).number(static_cast<u32>(dims.size()));
    for (const u64 d : dims) number(d);
    return number(type).number(offset);
  }
  // Pads to the alignment and appends the data.
  writer& data(std::size_t size, std::size_t alignment = 32) {
    out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
    out.append(size, 'd');
    return *this;
  }
};

writer header(u64 tensors, u64 values, u32 version = 3) {
  writer w;
  w.out = "GGUF";
  return w.number(version).number(tensors).number(values);
}

std::string error_in(const writer& w, cke::errc code = cke::errc::malformed) {
  const exercise::exact_copy bytes(w.out.data(), w.out.size());
  cke::errc found = code;
  std::string text = error_of([&] { exercise::all(gguf::parse(bytes, "f")); }, &found);
  CHECK(found == code);
  return text;
}

template <class T> T at(const cke::io::tensor_ref& t, std::size_t i) {
  return cke::io::detail::load<T>(t.bytes.data() + i * sizeof(T));
}

}  // namespace

TEST_CASE("gguf: every metadata type, as gguf-py writes it") {
  const gguf g = gguf::read(damage::fixture("kinds.gguf"));
  CHECK(g.version() == 3);
  CHECK(g.get<string_view>("general.architecture") == "qwen3");
  CHECK(g.get<u32>("t.u8") == 200);
  CHECK(g.get<i32>("t.i8") == -100);
  CHECK(g.get<u64>("t.u16") == 60000);
  CHECK(g.get<i64>("t.i16") == -30000);
  CHECK(g.get<u32>("t.u32") == 4000000000);
  CHECK(g.get<i32>("t.i32") == -2000000000);
  CHECK(g.get<u64>("t.u64") == (u64{1} << 63) + 5);
  CHECK(g.get<i64>("t.i64") == -(i64{1} << 62));
  CHECK(g.get<float>("t.f32") == 0.15625f);
  CHECK(g.get<double>("t.f32") == 0.15625);
  CHECK(g.get<double>("t.f64") == 1e-300);
  CHECK(g.get<bool>("t.yes"));
  CHECK_FALSE(g.get<bool>("t.no"));
  CHECK(g.get<string_view>("t.text") == string_view("na\u00efve \U0001F600\0end", 15));
  CHECK(g.array<string_view>("t.words") == std::vector<string_view>{"", "a", "\u0120the", "<|im_end|>"});
  CHECK(g.array<i32>("t.ints") == std::vector<i32>{1, -2, 3});
  CHECK(g.array<float>("t.floats") == std::vector<float>{0.5f, -1.25f, 1e30f});
  CHECK(g.array<bool>("t.flags") == std::vector<bool>{true, false, true});
  CHECK(g.array<u64>("t.wide") == std::vector<u64>{u64{1} << 40, 7});

  CHECK(g.get_or<u64>("t.u8", 7) == 200);
  CHECK(g.get_or<u64>("t.absent", 7) == 7);
  CHECK(g.find("t.absent") == nullptr);
  CHECK(g.find("t.nested")->count == 2);
}

TEST_CASE("gguf: metadata can be listed, in the order of the file") {
  const gguf g = gguf::read(damage::fixture("kinds.gguf"));
  std::string all;
  for (const auto& v : g.values()) all += std::string(v.key) + " = " + describe(v) + '\n';
  CHECK(all ==
        "general.architecture = string \"qwen3\"\n"
        "t.u8 = u8 200\nt.i8 = i8 -100\nt.u16 = u16 60000\nt.i16 = i16 -30000\n"
        "t.u32 = u32 4000000000\nt.i32 = i32 -2000000000\n"
        "t.u64 = u64 9223372036854775813\nt.i64 = i64 -4611686018427387904\n"
        "t.f32 = f32 0.15625\nt.f64 = f64 1e-300\nt.yes = bool true\nt.no = bool false\n" +
            std::string("t.text = string \"na\u00efve \U0001F600\0end\"\n", 34) +
            "t.words = array of 4 string\nt.ints = array of 3 i32\nt.floats = array of 3 f32\n"
            "t.flags = array of 3 bool\nt.nested = array of 2 array\nt.wide = array of 2 u64\n");
}

TEST_CASE("gguf: a value that is not what is asked for") {
  const auto path = damage::fixture("kinds.gguf");
  const gguf g = gguf::read(path);
  cke::errc code{};
  CHECK(error_of([&] { g.get<u64>("t.absent"); }, &code) == path + ": key t.absent: expected u64, found no such key");
  CHECK(code == cke::errc::config_mismatch);
  CHECK(error_of([&] { g.get<u64>("t.i8"); }) == path + ": key t.i8: expected u64, found i8 -100");
  CHECK(error_of([&] { g.get<i32>("t.u32"); }) == path + ": key t.u32: expected i32, found u32 4000000000");
  CHECK(error_of([&] { g.get<i64>("t.u64"); }) == path + ": key t.u64: expected i64, found u64 9223372036854775813");
  CHECK(error_of([&] { g.get_or<u32>("t.u64", 1); }) != "");
  CHECK(error_of([&] { g.get<float>("t.f64"); }) == path + ": key t.f64: expected f32, found f64 1e-300");
  CHECK(error_of([&] { g.get<double>("t.u8"); }) == path + ": key t.u8: expected f64, found u8 200");
  CHECK(error_of([&] { g.get<u32>("t.f32"); }) == path + ": key t.f32: expected u32, found f32 0.15625");
  CHECK(error_of([&] { g.get<u32>("t.yes"); }) == path + ": key t.yes: expected u32, found bool true");
  CHECK(error_of([&] { g.get<bool>("t.u8"); }) == path + ": key t.u8: expected bool, found u8 200");
  CHECK(error_of([&] { g.get<string_view>("t.u8"); }) == path + ": key t.u8: expected string, found u8 200");
  CHECK(error_of([&] { g.get<u32>("general.architecture"); }) ==
        path + ": key general.architecture: expected u32, found string \"qwen3\"");
  CHECK(error_of([&] { g.get<i32>("t.ints"); }) == path + ": key t.ints: expected i32, found array of 3 i32");

  CHECK(error_of([&] { g.array<i32>("t.i32"); }) == path + ": key t.i32: expected array of i32, found i32 -2000000000");
  CHECK(error_of([&] { g.array<u32>("t.ints"); }) == path + ": key t.ints: expected array of u32, found i32 -2");
  CHECK(error_of([&] { g.array<i32>("t.wide"); }) ==
        path + ": key t.wide: expected array of i32, found u64 1099511627776");
  CHECK(error_of([&] { g.array<i32>("t.nested"); }) ==
        path + ": key t.nested: expected array of i32, found array of 2 array");
  CHECK(error_of([&] { g.array<float>("t.words"); }) ==
        path + ": key t.words: expected array of f32, found array of 4 string");
  CHECK(error_of([&] { g.array<string_view>("t.ints"); }) ==
        path + ": key t.ints: expected array of string, found array of 3 i32");
  CHECK(error_of([&] {
          g.array<string_view>("t.text");
        }).starts_with(path + ": key t.text: expected array of string, found string"));
}

TEST_CASE("gguf: tensors, at the default alignment and another") {
  for (const char* name : {"kinds.gguf", "aligned64.gguf"}) {
    const auto path = damage::fixture(name);
    const gguf g = gguf::read(path);
    const auto& index = g.tensors();
    REQUIRE(index.tensors().size() == 6);
    const auto ramp = [](std::size_t i) { return static_cast<float>(i) / 4 - 3; };

    const auto& norm = *index.find("norm.weight");
    CHECK(norm.type == dtype::f32);
    CHECK(norm.shape == cke::tensor_shape{5});
    REQUIRE(norm.bytes.size() == 20);
    for (std::size_t i = 0; i < 5; ++i) CHECK(at<float>(norm, i) == ramp(i));
    CHECK(norm.file->name() == path);

    const auto& cube = *index.find("cube");
    CHECK(cube.type == dtype::f16);
    CHECK(cube.shape == cke::tensor_shape{2, 3, 4});
    REQUIRE(cube.bytes.size() == 48);
    for (std::size_t i = 0; i < 24; ++i) CHECK(cke::from_f16(at<cke::u16>(cube, i)) == ramp(i));

    const auto& half = *index.find("half");
    CHECK(half.type == dtype::bf16);
    CHECK(half.shape == cke::tensor_shape{3, 5});
    for (std::size_t i = 0; i < 15; ++i) CHECK(cke::from_bf16(at<cke::u16>(half, i)) == ramp(i));

    const auto& blocks = *index.find("blocks");
    CHECK(blocks.type == dtype::q8_0);
    CHECK(blocks.shape == cke::tensor_shape{3, 64});
    REQUIRE(blocks.bytes.size() == 6 * 34);
    for (std::size_t i = 0; i < 192; ++i) {
      const auto* block = blocks.bytes.data() + i / 32 * 34;
      const float scale = cke::from_f16(cke::io::detail::load<cke::u16>(block));
      const float x = scale * static_cast<float>(cke::io::detail::load<cke::i8>(block + 2 + i % 32));
      CHECK(std::abs(x - ramp(i)) <= scale * 0.57f);  // half a step, and 127 times the scale's own rounding
    }

    const auto& super = *index.find("super");
    CHECK(super.type == dtype::q4_k);
    CHECK(super.shape == cke::tensor_shape{4, 256});
    CHECK(at<u8>(super, 287) == u8{287 % 256});

    const auto& other = *index.find("other");  // a type without arithmetic in cke: no size is known
    CHECK(other.type == dtype::none);
    CHECK(other.stored == "ggml type 26");
    CHECK(other.shape == cke::tensor_shape{2, 3});
    CHECK(other.bytes.empty());
  }
}

TEST_CASE("gguf: a vocabulary without tensors, and the shortest file") {
  const gguf g = gguf::read(damage::fixture("vocab.gguf"));
  CHECK(g.tensors().tensors().empty());
  const auto tokens = g.array<string_view>("tokenizer.ggml.tokens");
  REQUIRE(tokens.size() == 41);
  CHECK(tokens[39] == "t39");
  CHECK(tokens[40] == std::string(300, 'x'));

  for (const u32 version : {2u, 3u}) CHECK(error_in(header(0, 0, version)) == "");
}

TEST_CASE("gguf: what was moved or copied from one keeps the file mapped") {
  auto g = std::make_unique<gguf>(gguf::read(damage::fixture("kinds.gguf")));
  auto moved = std::make_unique<const gguf>(std::move(*g));
  const cke::io::tensor_index tensors = moved->tensors();
  g.reset();
  CHECK(moved->get<string_view>("general.architecture") == "qwen3");
  CHECK(moved->find("t.u8") != nullptr);
  moved.reset();
  CHECK(at<float>(*tensors.find("norm.weight"), 1) == -2.75f);
}

TEST_CASE("gguf: files that are right at the edge") {
  CHECK(error_in(header(1, 0).tensor("scalar", {}, 0, 0).data(4)) == "");
  CHECK(error_in(header(1, 1).value("general.alignment", 4, 1u).tensor("a", {1}, 0, 0).data(4, 1)) == "");
  CHECK(error_in(header(1, 1).value("general.alignment", 4, 1u << 20).tensor("a", {1}, 0, 0).data(4, 1 << 20)) == "");
  CHECK(error_in(header(1, 1).value("general.alignment", 10, u64{64}).tensor("a", {1}, 0, 64).data(68, 64)) == "");
  CHECK(error_in(header(2, 0).tensor("b", {8}, 0, 32).tensor("a", {8}, 0, 0).data(64)) == "");  // any order
  CHECK(error_in(header(1, 0).tensor("iq1", {256}, 19, 0).data(0)) == "");
  CHECK(error_in(header(0, 1).value("split.count", 2, std::uint16_t{1})) == "");
  // four arrays, one in the other, around one byte
  writer nested = header(0, 1).text("k").number(9u);
  for (int i = 0; i < 3; ++i) nested.number(9u).number(u64{1});
  CHECK(error_in(nested.number(0u).number(u64{1}).number(u8{5})) == "");
}

// One group for each class of published hole (CVE and issue numbers are those of other readers).
TEST_CASE("gguf: bad files") {
  struct bad {
    const char* why;
    writer file;
    const char* message;
  };
  const u64 huge = ~u64{0}, wraps_by_8 = (u64{1} << 61) + 1;
  writer deep = header(0, 1).text("k").number(9u);
  for (int i = 0; i < 100'000; ++i) deep.number(9u).number(u64{1});
  const bad cases[] = {
      {"CVE-2024-21825: number of metadata values", header(0, huge),
       "f: number of metadata values: expected at most 0 items in the bytes that are left, found "
       "18446744073709551615"},
      {"CVE-2024-21802: number of tensors", header(wraps_by_8, 0),
       "f: number of tensors: expected at most 0 items in the bytes that are left, found "
       "2305843009213693953"},
      {"CVE-2024-23496: string length", header(0, 1).number(huge).data(40),
       "f: a metadata key: expected 18446744073709551615 bytes at byte 32, found 40 bytes before "
       "the end of the file"},
      {"string length past the end by one",
       header(0, 1).text("k").number(8u).number(u64{4}).number('a').number('b').number('c'),
       "f: key k: expected 4 bytes at byte 45, found 3 bytes before the end of the file"},
      {"CVE-2024-21836: array of u64 whose size wraps to 8",
       header(0, 1).text("k").number(9u).number(10u).number(wraps_by_8).data(64),
       "f: key k: expected at most 9 items in the bytes that are left, found 2305843009213693953"},
      {"CVE-2024-23605: array of strings", header(0, 1).text("k").number(9u).number(8u).number(u64{1} << 60).data(64),
       "f: key k: expected at most 9 items in the bytes that are left, found 1152921504606846976"},
      {"an array item's length", header(0, 1).text("k").number(9u).number(8u).number(u64{1}).number(huge),
       "f: key k: expected 18446744073709551615 bytes at byte 57, found 0 bytes before the end of "
       "the file"},
      {"array of arrays", header(0, 1).text("k").number(9u).number(9u).number(u64{1} << 62).data(64),
       "f: key k: expected at most 6 items in the bytes that are left, found 4611686018427387904"},
      {"nested 100000 deep", deep, "f: key k: expected arrays nested at most 4 deep, found a deeper one"},
      {"metadata type", header(0, 1).value("k", 13, u64{0}),
       "f: key k: expected a metadata type from 0 to 12, found 13"},
      {"array item type", header(0, 1).text("k").number(9u).number(0x80000008u).number(u64{0}),
       "f: key k: expected a metadata type from 0 to 12, found 2147483656"},
      {"bool", header(0, 1).value("k", 7, u8{2}), "f: key k: expected a bool of 0 or 1, found 2"},
      {"bool in an array", header(0, 1).text("k").number(9u).number(7u).number(u64{2}).number(u8{1}).number(u8{255}),
       "f: key k: expected a bool of 0 or 1, found 255"},
      {"one key twice", header(0, 3).value("k", 4, 1u).value("a", 4, 1u).value("k", 5, 2),
       "f: key k: expected one value, found two"},

      {"dimensions above 4", header(1, 0).text("t").number(5u).data(64),
       "f: tensor t: expected at most 4 dimensions, found 5"},
      {"dimensions, as a count", header(1, 0).text("t").number(~0u).data(64),
       "f: tensor t: expected at most 4 dimensions, found 4294967295"},
      {"CVE-2024-21836: dimensions whose product wraps",
       header(1, 0).tensor("t", {u64{1} << 33, u64{1} << 31, 4}, 0, 0).data(64),
       "f: tensor t: expected dimensions above 0 whose product fits in 64 bits, found 8589934592"},
      {"dimension 0", header(1, 0).tensor("t", {0, 4}, 0, 0).data(64),
       "f: tensor t: expected dimensions above 0 whose product fits in 64 bits, found 0"},
      {"CVE-2026-33298: bytes that wrap", header(1, 0).tensor("t", {u64{1} << 62}, 0, 0).data(64),
       "f: tensor t: expected a size that fits in 64 bits, found 4611686018427387904 elements of "
       "f32"},
      {"CVE-2026-33298: bytes of blocks", header(1, 0).tensor("t", {u64{1} << 32, u64{1} << 31}, 8, 0).data(64),
       "f: tensor t: expected 9799832789158199296 bytes at offset 0, found 64 bytes of tensor "
       "data"},
      {"CVE-2025-53630, CVE-2026-27940: two sizes whose sum wraps",
       header(2, 0).tensor("a", {8}, 0, 0).tensor("b", {u64{1} << 61}, 0, 64).data(64),
       "f: tensor b: expected 9223372036854775808 bytes at offset 64, found 64 bytes of tensor "
       "data"},
      {"rows that do not fill blocks", header(1, 0).tensor("t", {48, 2}, 8, 0).data(128),
       "f: tensor t: expected rows of a multiple of 32 elements for q8_0, found 48"},
      {"a scalar in blocks", header(1, 0).tensor("t", {}, 8, 0).data(64),
       "f: tensor t: expected rows of a multiple of 32 elements for q8_0, found 1"},
      {"CVE-2026-7482: data that begins in the file and ends after it", header(1, 0).tensor("t", {17}, 0, 0).data(64),
       "f: tensor t: expected 68 bytes at offset 0, found 64 bytes of tensor data"},
      {"data after the file", header(1, 0).tensor("t", {1}, 0, 96).data(64),
       "f: tensor t: expected 4 bytes at offset 96, found 64 bytes of tensor data"},
      {"an offset that wraps", header(1, 0).tensor("t", {8}, 0, huge - 31).data(64),
       "f: tensor t: expected 32 bytes at offset 18446744073709551584, found 64 bytes of tensor "
       "data"},
      {"an unknown type's offset", header(1, 0).tensor("t", {8}, 99, 96).data(64),
       "f: tensor t: expected 0 bytes at offset 96, found 64 bytes of tensor data"},
      {"an offset off the alignment", header(1, 0).tensor("t", {1}, 0, 16).data(64),
       "f: tensor t: expected an offset that is a multiple of 32, found 16"},
      {"an overlap", header(2, 0).tensor("a", {9}, 0, 0).tensor("b", {8}, 0, 32).data(64),
       "f: tensor b: expected bytes of its own, found an overlap with tensor a"},
      {"the same place twice", header(2, 0).tensor("b", {8}, 0, 0).tensor("a", {8}, 0, 0).data(64),
       "f: tensor a: expected bytes of its own, found an overlap with tensor b"},
      {"one name twice", header(2, 0).tensor("t", {8}, 0, 0).tensor("t", {8}, 0, 32).data(64),
       "f: tensor t: expected one tensor of this name, found another in f"},
      {"no room for the padding", header(1, 0).tensor("t", {8}, 0, 0),
       "f: padding before the tensor data: expected 7 bytes at byte 57, found 0 bytes before the "
       "end of the file"},

      {"alignment 2^31 (#24997)", header(0, 1).value("general.alignment", 4, 0x80000000u),
       "f: key general.alignment: expected a power of two up to 1048576, found 2147483648"},
      {"alignment 2^63 (#26318)", header(0, 1).value("general.alignment", 10, u64{1} << 63),
       "f: key general.alignment: expected a power of two up to 1048576, found "
       "9223372036854775808"},
      {"alignment 0", header(0, 1).value("general.alignment", 4, 0u),
       "f: key general.alignment: expected a power of two up to 1048576, found 0"},
      {"alignment 48", header(0, 1).value("general.alignment", 4, 48u),
       "f: key general.alignment: expected a power of two up to 1048576, found 48"},
  };
  for (const bad& c : cases) {
    CAPTURE(c.why);
    CHECK(error_in(c.file) == c.message);
  }
}

TEST_CASE("gguf: files of another kind") {
  writer other;
  other.out = "GGML\3";
  CHECK(error_in(other) == "f: magic: expected GGUF, found GGML");
  CHECK(error_in(writer{}) == "f: magic: expected 4 bytes at byte 0, found 0 bytes before the end of the file");
  const auto unsupported = [](const writer& w) { return error_in(w, cke::errc::unsupported); };
  CHECK(unsupported(header(0, 0, 1)) == "f: version: expected 2 or 3, little endian, found 1");
  CHECK(unsupported(header(0, 0, 4)) == "f: version: expected 2 or 3, little endian, found 4");
  CHECK(unsupported(header(0, 0, 0)) == "f: version: expected 2 or 3, little endian, found 0");
  CHECK(unsupported(header(0, 0, 0x03000000)) == "f: version: expected 2 or 3, little endian, found a big-endian file");
  CHECK(unsupported(header(0, 1).value("split.count", 2, std::uint16_t{3})) ==
        "f: key split.count: expected a file in one part, found 3 parts");
  CHECK(error_in(header(0, 1).value("general.alignment", 5, -32), cke::errc::config_mismatch) ==
        "f: key general.alignment: expected u64, found i32 -32");
  CHECK(error_in(header(0, 1).text("general.alignment").number(8u).text("32"), cke::errc::config_mismatch) ==
        "f: key general.alignment: expected u64, found string \"32\"");
  // room for that many entries, but more of them than any model has
  CHECK(unsupported(header(cke::io::max_tensors + 1, 0).data(24 * (cke::io::max_tensors + 2))) ==
        "f: header: expected at most 1048576 tensors and as many metadata values, found 1048577 "
        "and 0");
}

namespace {

// A part as llama.cpp's gguf-split writes it: tensors "t<first>" and so on, of 32 bytes filled with their number.
std::string part_of_model(std::uint16_t no, std::uint16_t count, i32 tensors, u64 first, u64 own) {
  writer w = header(own, no == 0 ? 4 : 3);
  if (no == 0) w.text("general.architecture").number(8u).text("qwen3");
  w.value("split.no", 2, no).value("split.count", 2, count).value("split.tensors.count", 5, tensors);
  for (u64 i = 0; i < own; ++i) w.tensor("t" + std::to_string(first + i), {8}, 0, 32 * i);
  w.data(0);
  for (u64 i = 0; i < own; ++i) w.out.append(32, static_cast<char>('0' + first + i));
  return w.out;
}
struct parts_on_disk : damage::scratch {
  std::string name(int no, const char* of = "3") const {
    return dir() + "/m-0000" + std::to_string(no) + "-of-0000" + of + ".gguf";
  }
  void write(const std::string& file, const std::string& bytes) const {
    std::ofstream(file, std::ios::binary) << bytes;
  }
  void write_all() const {  // the first without tensors
    write(name(1), part_of_model(0, 3, 5, 0, 0));
    write(name(2), part_of_model(1, 3, 5, 0, 3));
    write(name(3), part_of_model(2, 3, 5, 3, 2));
  }
};

}  // namespace

TEST_CASE("gguf: a model in parts, whichever of them is named") {
  const parts_on_disk disk;
  disk.write_all();
  for (int no = 1; no <= 3; ++no) {
    const gguf g = gguf::read(disk.name(no));
    CHECK(g.file() == disk.name(1));
    CHECK(g.get<string_view>("general.architecture") == "qwen3");
    REQUIRE(g.tensors().tensors().size() == 5);
    for (u32 i = 0; i < 5; ++i) {
      const auto* t = g.tensors().find("t" + std::to_string(i));
      REQUIRE(t != nullptr);
      CHECK(t->file->name() == disk.name(i < 3 ? 2 : 3));
      CHECK(at<char>(*t, 31) == static_cast<char>('0' + i));
      g.tensors().drop(g.tensors().number_of(t->name), t->bytes);
    }
  }
}

TEST_CASE("gguf: parts that are missing, damaged, twice there or of another model") {
  const parts_on_disk disk;
  const auto error = [&](const std::string& named) {
    cke::errc code{};
    return error_of([&] { gguf::read(named); }, &code);
  };
  const auto replaced = [&](int no, const std::string& bytes) {
    disk.write_all();
    disk.write(disk.name(no), bytes);
    return error(disk.name(1));
  };
  for (int no = 1; no <= 3; ++no) {
    disk.write_all();
    std::filesystem::remove(disk.name(no));
    CHECK(error(disk.name(no % 3 + 1)).starts_with(disk.name(no) + ": expected"));
  }
  CHECK(replaced(3, part_of_model(2, 3, 5, 2, 2)) ==
        disk.name(2) + ": tensor t2: expected one tensor of this name, found another in " + disk.name(3));
  CHECK(replaced(3, part_of_model(1, 3, 5, 3, 2)) ==
        disk.name(3) + ": keys split.no and split.count: expected 2 of 3, found 1 of 3");
  CHECK(replaced(2, part_of_model(1, 4, 5, 0, 3)) ==
        disk.name(2) + ": keys split.no and split.count: expected 1 of 3, found 1 of 4");
  CHECK(replaced(2, header(0, 0).out) == disk.name(2) + ": key split.no: expected u64, found no such key");
  CHECK(replaced(3, part_of_model(2, 3, 5, 3, 1)) ==
        disk.name(1) + ": key split.tensors.count: expected 4 tensors, as in all parts, found 5");
  const std::string whole = part_of_model(2, 3, 5, 3, 2);
  CHECK(replaced(3, whole.substr(0, whole.size() - 1))
            .starts_with(disk.name(3) + ": tensor t4: expected 32 bytes at offset 32"));
  disk.write_all();
  const std::string other = disk.dir() + "/model.gguf";
  std::filesystem::copy_file(disk.name(2), other);
  CHECK(error(other) ==
        other + ": file name: expected one of 3 parts, that ends in -00002-of-00003.gguf, found another");
  std::filesystem::copy_file(disk.name(2), disk.name(1, "4"));
  CHECK(error(disk.name(1, "4")).find("-00002-of-00003.gguf, found another") != std::string::npos);
  disk.write(disk.name(4), part_of_model(3, 3, 5, 0, 3));
  CHECK(error(disk.name(4)).find("file name: expected one of 3 parts") != std::string::npos);
}

TEST_CASE("gguf: cut files are errors, flipped bits are errors or files") {
  const auto parse_all = [](std::span<const std::byte> bytes) { exercise::all(gguf::parse(bytes, "f")); };
  for (const char* name : {"kinds.gguf", "aligned64.gguf", "vocab.gguf"}) {
    const std::string whole = damage::content(damage::fixture(name));
    // without tensors, the padding after the metadata may be missing
    const std::size_t padding = name == string_view("vocab.gguf") ? 31 : 0;
    CHECK(damage::shortest_accepted(whole, parse_all) + padding >= whole.size());
    CHECK(damage::flips_accepted(whole, parse_all) < whole.size() * 8);
  }
}
