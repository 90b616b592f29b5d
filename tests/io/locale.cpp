// SPDX-License-Identifier: MIT
// locale.cpp: what is written for models, templates and monitors has a point, whatever locale a program has set.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cke/io/checkpoint.hpp>
#include <cke/io/image_markup.hpp>
#include <cke/serve/metrics.hpp>
#include <cke/text/jinja/template.hpp>
#include <clocale>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../changed_gguf.hpp"

namespace locale_test {

using namespace cke;

namespace {

// Sets a locale whose decimal point is a comma. A machine may have none, so glibc's file of one is written here: the
// offsets of decimal point, thousands separator, grouping, both as wide characters, and codeset, and what is there.
class comma_locale {
 public:
  comma_locale() {
    std::filesystem::create_directories(folder_ / "comma");
    const u32 words[] = {0x20031115 ^ LC_NUMERIC, 6, 32, 34, 34, 36, 40, 44, ',', ',', 0};
    std::ofstream(folder_ / "comma" / "LC_NUMERIC", std::ios::binary)
        .write(reinterpret_cast<const char*>(words), sizeof words)
        .write("UTF-8", 6);
    ::setenv("LOCPATH", folder_.c_str(), 1);
    on_ = std::setlocale(LC_NUMERIC, "comma") && std::string(std::localeconv()->decimal_point) == ",";
  }
  comma_locale(const comma_locale&) = delete;
  ~comma_locale() {
    std::setlocale(LC_NUMERIC, "C");
    ::unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }
  bool on() const { return on_; }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("cke_locale_" + std::to_string(::getpid()));
  bool on_ = false;
};

std::string config_text() {
  changed_gguf file(CKE_TEST_DATA "/families/granitemoehybrid.gguf");
  file.more = [](io::gguf_writer& w) { w.add("granitehybrid.x", 0.5f), w.add("granitehybrid.y", 1e-6f); };
  const std::string bytes = file.bytes();
  return io::gguf_weights(io::gguf::parse(std::as_bytes(std::span(bytes)), "f.gguf")).config;
}
std::string template_text() {
  const text::jinja::chat_template form(
      "{{ '%.2f' % 2.5 }} {{ '%e' % 12345.678 }} {{ '%G' % 0.00001234 }} {{ '%.0g' % 0.25 }} {{ '%g' % 100000 }} "
      "{{ '{:.1%}'.format(0.256) }} {{ 2.675|round(2) }} {{ '%F' % ('inf'|float) }} {{ 0.5 }}");
  return std::string(form.render({}, {}).view());
}
std::string video_text() {
  text::vocabulary v;
  v.tokens = {"<|image_pad|>", "<|vision_start|>", "<|vision_end|>", "<|video_pad|>"};
  const io::image_markup markup = io::qwen3_markup(io::markup_reader::by_name("f.gguf", v));
  return markup.video->words({.tiles = {io::feature_grid{1, 2}, io::feature_grid{1, 1}}, .seconds = {0.25, 1e20}});
}
std::string metrics_text() {
  serve::metrics count;
  count.requests = 3;
  count.pass_nanoseconds = 1'500'000'000;
  count.queue_seconds.add(0.004);
  return count.text();
}

std::vector<std::string> all_texts() { return {config_text(), template_text(), video_text(), metrics_text()}; }

bool contains(const std::string& all, const char* part) { return all.find(part) != all.npos; }

}  // namespace

TEST_CASE("locale: a decimal comma changes no config, prompt or metric") {
  const std::vector<std::string> texts = all_texts();
  CHECK(contains(texts[0], "\"x\":0.5,\"y\":1e-06,"));
  CHECK(texts[1] == "2.50 1.234568e+04 1.234E-05 0.2 100000 25.6% 2.67 INF 0.5");
  CHECK(texts[2] ==
        "<0.2 seconds><|vision_start|><|video_pad|><|video_pad|><|vision_end|>"
        "<100000000000000000000.0 seconds><|vision_start|><|video_pad|><|vision_end|>");
  CHECK(contains(texts[3], "\ncke_requests_total 3\n"));
  CHECK(contains(texts[3], "\ncke_decode_seconds_total 1.5\n"));
  CHECK(contains(texts[3], "\ncke_queue_seconds_bucket{le=\"0.0025\"} 0\ncke_queue_seconds_bucket{le=\"0.005\"} 1\n"));
  CHECK(contains(texts[3], "\ncke_queue_seconds_bucket{le=\"+Inf\"} 1\ncke_queue_seconds_sum 0.004\n"));

  const comma_locale set;
  if (!set.on()) {
    MESSAGE("not compared: this C library does not read a locale of glibc's");
    return;
  }
  char text[8];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  CHECK(std::string(text) == "0,5");  // the locale counts
  CHECK(all_texts() == texts);
}

}  // namespace locale_test
