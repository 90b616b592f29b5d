// SPDX-License-Identifier: MIT
#include <cke/image/decode.hpp>
#include <memory>

#include "files.hpp"

using namespace cke;
using files::error_of;

namespace {

image::picture decode(const std::string& file, const std::string& name = "f", image::decode_limits limits = {}) {
  // A copy that ends where its allocation ends, so that a sanitizer sees the first byte too far.
  const std::unique_ptr<std::byte[]> exact(new std::byte[file.size()]);
  std::ranges::copy(files::bytes(file), exact.get());
  return image::decode({exact.get(), file.size()}, name, limits);
}
std::string fixture(const std::string& name) { return files::content(files::folder + "files/" + name); }

}  // namespace

TEST_CASE("decode: every kind of file gives the bytes that Pillow gives") {
  const auto names = files::names();
  CHECK(names.size() >= 50);
  for (const auto& name : names) {
    CAPTURE(name);
    CHECK(files::difference(decode(fixture(name), name), files::ppm(files::folder + "files/" + name + ".ppm")) == "");
  }
}

TEST_CASE("decode: a file cut short is an error that names it, or the whole image") {
  for (const auto& name : files::names()) {
    const std::string whole = fixture(name);
    const auto image = decode(whole);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      CAPTURE(name);
      CAPTURE(n);
      image::picture cut;
      const std::string error = error_of([&] { cut = decode(whole.substr(0, n), "cut"); });
      if (!error.empty()) CHECK(error.starts_with("cut: "));
      else CHECK(cut.rgb.size() == image.rgb.size());  // what is missing is after the pixels
    }
  }
}

TEST_CASE("decode: flipped bits give an error or an image within the limit") {
  for (const auto& name : files::names()) {
    const std::string whole = fixture(name);
    for (std::size_t bit = 0; bit < std::min<std::size_t>(whole.size(), 100) * 8; ++bit) {
      CAPTURE(name);
      CAPTURE(bit);
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      image::picture p;
      const std::string error = error_of([&] { p = decode(flipped, "flipped", {.pixels = 10'000}); });
      if (!error.empty()) CHECK(error.starts_with("flipped: "));
      else CHECK((p.width * p.height <= 10'000 && p.rgb.size() == p.width * p.height * 3));
    }
  }
}

TEST_CASE("decode: a claim of too many pixels is refused before anything is decoded") {
  errc code{};
  const auto claim = [&](const std::string& file) { return error_of([&] { decode(file, "big"); }, &code); };
  CHECK(claim("P6 100000 100000 255\n") == "big: size: expected at most 89478485 pixels, found 100000 x 100000");
  CHECK(code == errc::config_range);
  CHECK(claim("P5 9999999999 9999999999 255\n").ends_with("found 9999999999 x 9999999999"));
  CHECK(claim("P5 33554432 1 255\n") == "big: size: expected sides of at most 1048576 pixels, found 33554432 x 1");
  CHECK(claim("P5 1 1048577 255\n").ends_with("found 1 x 1048577"));

  std::string png = fixture("png-2-8.png");
  png[16] = 0x7f;  // 2130706432 columns and more
  CHECK(claim(png).starts_with("big: size: expected at most 89478485 pixels, found 2130706"));
  std::string gif = fixture("gif-P-0.gif");
  for (const std::size_t at : {7u, 9u}) gif[at] = '\xff';
  CHECK(claim(gif).starts_with("big: size: expected at most 89478485 pixels"));
  std::string bmp = fixture("bmp-24.bmp");
  bmp[20] = bmp[21] = 0x7f;
  CHECK(claim(bmp).starts_with("big: size: expected at most 89478485 pixels"));

  for (const auto& name : files::names()) {
    CAPTURE(name);
    const std::string file = fixture(name);
    const auto p = decode(file);
    CHECK(error_of([&] { decode(file, "f", {.pixels = u64{p.width} * p.height}); }) == "");
    // A GIF whose frame is larger than its screen is refused when the frame is known.
    CHECK(error_of([&] { decode(file, "f", {.pixels = u64{p.width} * p.height - 1}); }).starts_with("f: size: "));
  }
}

TEST_CASE("decode: what is no image, and what is none that cke reads, says so") {
  CHECK(error_of([] { decode(""); }) ==
        "f: image: expected PNG, JPEG, WebP, GIF, BMP, PBM, PGM or PPM, found an empty file");
  CHECK(error_of([] { decode("a text"); }).ends_with("found another format"));
  CHECK(error_of([] { decode(std::string("II*\0", 4)); }).ends_with("found TIFF"));
  CHECK(error_of([] {
          decode(
              std::string("\0\0\0\x18"
                          "ftypheic",
                          12));
        }).ends_with("found HEIC"));
  CHECK(error_of([] { decode("P6 0 4 255\n"); }) == "f: size: expected at least 1 x 1 pixels, found 0 x 4");
  CHECK(error_of([] { decode("P6 4 x 255\n"); }) ==
        "f: PNM height: expected a number of at most 10 digits, found byte 120 at 5");
  CHECK(error_of([] { decode("P6 1 1 70000\n"); }) == "f: PNM greatest value: expected 1 to 65535, found 70000");
  CHECK(error_of([] { decode("P6 2 2 255\nabc"); }) ==
        "f: PNM pixels: expected 12 bytes from byte 11 on, found a file of 14 bytes");
  CHECK(error_of([] { decode("P2 1 1 7\n9\n"); }) == "f: PNM value: expected at most 7, found 9");
  CHECK(error_of([] { decode("P1 2 1\n0 2\n"); }) == "f: PBM: expected 0 or 1, found byte 50 at 9");
  CHECK(error_of([] { decode("GIF89a"); }).starts_with("f: GIF: "));
  CHECK(error_of([] { decode("\xff\xd8\xff\xd9"); }).starts_with("f: JPEG: "));
  CHECK(error_of([] { decode(std::string("RIFF\0\0\0\0WEBP", 12)); }) == "f: WebP: a readable header");
  std::string bmp = fixture("bmp-8.bmp");
  bmp[28] = 7;
  CHECK(error_of([&] { decode(bmp); }) == "f: BMP: expected 1, 4, 8, 16, 24 or 32 bits a pixel, found 7");
  bmp = fixture("bmp-24.bmp");
  bmp[14] = 33;
  CHECK(error_of([&] { decode(bmp); }) == "f: BMP header: expected 12, 40, 52, 56, 64, 108 or 124 bytes, found 33");
}

TEST_CASE("decode: a progressive JPEG with too many scans is refused") {
  const std::string file = fixture("jpeg-RGB-0.jpg");
  CHECK(error_of([&] { decode(file, "f", {.scans = 2}); }) == "f: JPEG: too many scans");
}

namespace orientation_test {

std::string big_endian(u32 n) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 255);
  return out;
}
std::string chunk(const std::string& type, const std::string& body) {
  u32 crc = ~0u;
  for (const char c : type + body) {
    crc ^= static_cast<u8>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return big_endian(static_cast<u32>(body.size())) + type + body + big_endian(~crc);
}
// A zlib stream of stored blocks.
std::string stored(const std::string& text) {
  std::string out = "\x78\x01";
  u32 a = 1, b = 0;
  for (const char c : text) a = (a + static_cast<u8>(c)) % 65521, b = (b + a) % 65521;
  for (std::size_t at = 0; at < text.size(); at += 65535) {
    const std::string block = text.substr(at, 65535);
    const auto size = static_cast<u32>(block.size());
    out += static_cast<char>(at + 65535 >= text.size() ? 1 : 0);
    for (const u32 n : {size, ~size}) out += static_cast<char>(n & 255), out += static_cast<char>(n >> 8 & 255);
    out += block;
  }
  return out + big_endian(b << 16 | a);
}
// ImageMagick's.
std::string raw_profile(const std::string& exif) {
  std::string out = "\nexif\n      " + std::to_string(exif.size());
  for (std::size_t i = 0; i < exif.size(); ++i) {
    if (i % 36 == 0) out += '\n';
    for (const int shift : {4, 0}) out += "0123456789abcdef"[static_cast<u8>(exif[i]) >> shift & 15];
  }
  return out + '\n';
}
// A text in each kind of chunk that has one: as it is, compressed, in UTF-8, and that compressed.
std::vector<std::string> chunks_of(const std::string& keyword, const std::string& text) {
  const std::string key = keyword + '\0';
  return {chunk("tEXt", key + text), chunk("zTXt", key + '\0' + stored(text)),
          chunk("iTXt", key + std::string("\0\0en\0\0", 6) + text),
          chunk("iTXt", key + std::string("\1\0en\0\0", 6) + stored(text))};
}

TEST_CASE("decode: PNG's orientation in raw profiles and in XMP, compressed or not, as Pillow reads it") {
  const std::string whole = fixture("orientation-6.png"), end = whole.substr(whole.size() - 12);
  const auto turned = decode(whole);
  const std::size_t at = whole.find("eXIf");
  REQUIRE(at != whole.npos);
  const std::size_t size = static_cast<u8>(whole[at - 1]);
  const std::string exif = whole.substr(at + 4, size);
  std::string without = whole;
  without.erase(at - 4, size + 12);
  const auto with = [&](const std::string& file, const std::string& more) {
    return decode(file.substr(0, file.size() - 12) + more + end);
  };
  CHECK(turned.width == 2);
  CHECK(with(without, "").width == 3);

  const std::string xmp = "<x tiff:Orientation=\"6\"/>", other_xmp = "<x tiff:Orientation=\"3\"/>";
  std::string other_exif = exif;
  other_exif[18] = 3;
  const std::string profile = raw_profile(exif), other_profile = raw_profile(other_exif);
  for (const std::string& more : chunks_of("Raw profile type exif", profile)) {
    CAPTURE(more.substr(4, 4));
    CHECK(files::difference(with(without, more), turned) == "");
    for (const std::string& later : chunks_of("XML:com.adobe.xmp", other_xmp))
      CHECK(files::difference(with(without, more + later), turned) == "");  // EXIF counts before XMP
  }
  const std::string named = raw_profile(std::string("Exif\0\0", 6) + exif);
  CHECK(with(without, chunks_of("Raw profile type exif", named)[0]).width == 2);
  for (const std::string& more : chunks_of("XML:com.adobe.xmp", xmp)) {
    CAPTURE(more.substr(4, 4));
    CHECK(files::difference(with(without, more), turned) == "");
    for (const std::string& later : chunks_of("XML:com.adobe.xmp", other_xmp))
      CHECK(with(without, more + later).width == 3);  // the last counts
  }
  // eXIf counts before both.
  for (const std::string& more : chunks_of("Raw profile type exif", other_profile))
    CHECK(files::difference(with(whole, more), turned) == "");
  for (const std::string& more : chunks_of("XML:com.adobe.xmp", other_xmp))
    CHECK(files::difference(with(whole, more), turned) == "");
  // Damaged ones turn nothing, or what is left of them does.
  for (std::string cut : chunks_of("Raw profile type exif", profile)) {
    cut.erase(cut.size() - 12, 8);
    CHECK_NOTHROW(with(without, cut));
  }

  const auto width = [&](const char* keyword, const std::string& text) {
    return with(without, chunk("zTXt", keyword + std::string(2, '\0') + stored(text))).width;
  };
  CHECK(width("Raw profile type exif", raw_profile(exif).replace(20, 1, "x")) == 3);
  CHECK(width("Raw profile type exif", "\nexif\n") == 3);
  CHECK(width("XML:com.adobe.xmp", xmp + std::string(1 << 19, ' ')) == 2);
  CHECK(width("XML:com.adobe.xmp", xmp + std::string(1 << 20, ' ')) == 3);  // more than is unpacked
}

}  // namespace orientation_test

TEST_CASE("decode: EXIF that is broken turns nothing") {
  std::string file = fixture("orientation-6.png");
  const auto exif = file.find("eXIf");
  REQUIRE(exif != file.npos);
  CHECK(decode(file).width == 2);
  file[exif + 4] = 'x';  // no byte order
  CHECK(decode(file).width == 3);
}
