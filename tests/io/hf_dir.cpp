// SPDX-License-Identifier: MIT
#include <cke/io/hf_dir.hpp>

#include "damage.hpp"

namespace hf_dir_test {

using damage::error_of;

static std::string copied(const damage::scratch& to, const char* name) {
  return to.write(name, damage::content(damage::fixture(std::string("sharded/") + name)));
}
static const char *first = "model-00001-of-00002.safetensors", *second = "model-00002-of-00002.safetensors",
                  *index_name = "model.safetensors.index.json";

TEST_CASE("hf_dir: the files of a directory") {
  const auto dir = damage::fixture("single");
  const auto files = cke::io::read_hf_files(dir);
  CHECK(files.config == "{\"model_type\": \"qwen3\"}\n");
  CHECK(files.chat_template == "{{ messages }}\n");
  CHECK(files.tokenizer == dir + "/tokenizer.json");
  CHECK(files.generation_config.empty());
  CHECK(files.tokenizer_config.empty());
  CHECK(cke::io::read_hf_files(damage::fixture("sharded")).tokenizer.empty());

  // What transformers' processors wrote before they wrote chat_template.jinja.
  const damage::scratch old;
  old.write("chat_template.json", R"({"chat_template": "{{ \"a\nb\" }}"})");
  CHECK(cke::io::read_hf_files(old.dir()).chat_template == "{{ \"a\nb\" }}");
  old.write("chat_template.jinja", "{{ messages }}");
  CHECK(cke::io::read_hf_files(old.dir()).chat_template == "{{ messages }}");
  const damage::scratch wrong;
  const auto list = wrong.write("chat_template.json", R"(["a"])");
  CHECK(error_of([&] { cke::io::read_hf_files(wrong.dir()); }) ==
        list + ": chat_template: expected a text, found none");

  CHECK(error_of([] { cke::io::read_hf_files("/nowhere"); }) == "/nowhere: expected a directory, found nothing");
  const auto file = dir + "/config.json";
  const damage::scratch tmp;
  const auto large = tmp.write("config.json", "{}");
  std::filesystem::resize_file(large, cke::io::json_events::max_bytes + 1);
  CHECK(error_of([&] { cke::io::read_hf_files(tmp.dir()); }) ==
        large + ": expected a text of at most 100000000 bytes, found 100000001 bytes");
  CHECK(error_of([&] { cke::io::read_hf_files(file); }) == file + ": expected a directory, found a file");
}

TEST_CASE("hf_dir: numbers that Python writes and JSON does not have") {
  using cke::io::detail::with_finite_numbers;
  CHECK(with_finite_numbers("") == "");
  CHECK(with_finite_numbers(R"({"a": [0.0, Infinity], "b": -Infinity, "NaN": NaN})") ==
        R"({"a": [0.0, {"__float__": "Infinity"}], "b": {"__float__": "-Infinity"}, "NaN": {"__float__": "NaN"}})");
  for (const char* same : {R"({"a": "Infinity, \"NaN\" \\"})", R"({"a": -1, "b": "N)", "\"", "\"\\", "Infinit"})
    CHECK(with_finite_numbers(same) == same);
  const damage::scratch tmp;
  tmp.write("config.json", "{\"time_step_limit\": [0.0, Infinity]}");
  CHECK(cke::io::read_hf_files(tmp.dir()).config == R"({"time_step_limit": [0.0, {"__float__": "Infinity"}]})");
}

TEST_CASE("hf_dir: weights in one file and in several") {
  CHECK(cke::io::read_hf_weights(damage::fixture("single")).tensors().size() == 5);

  const auto dir = damage::fixture("sharded");
  const auto index = cke::io::read_hf_weights(dir);
  REQUIRE(index.tensors().size() == 3);
  CHECK(index.find("b.weight")->file->name() == dir + '/' + first);
  const auto& c = *index.find("c.weight");
  CHECK(c.file->name() == dir + '/' + second);
  CHECK(c.shape == cke::tensor_shape{3, 1});
  CHECK(cke::from_f16(cke::io::detail::load<cke::u16>(c.bytes.data() + 4)) == -2.5f);
  index.drop(index.number_of(c.name), c.bytes);
  CHECK(cke::from_f16(cke::io::detail::load<cke::u16>(c.bytes.data() + 4)) == -2.5f);

  const damage::scratch tmp;
  CHECK(error_of([&] { cke::io::read_hf_weights(tmp.dir()); }) ==
        tmp.dir() + ": expected model.safetensors or model.safetensors.index.json, found neither");
}

TEST_CASE("hf_dir: the index and the shards have the same tensors") {
  const damage::scratch tmp;
  const std::string one = copied(tmp, first), two = copied(tmp, second);
  const auto error_with = [&](const std::string& map, cke::errc code) {
    tmp.write(index_name, R"({"metadata": {"total_size": 46, "x": [null, -1, 1.5, true]}, "weight_map": )" + map + "}");
    cke::errc found = cke::errc::usage;
    const auto text = error_of([&] { cke::io::read_hf_weights(tmp.dir()); }, &found);
    CHECK(found == code);
    return text;
  };
  const auto entry = [](const char* tensor, const char* file) {
    return '"' + std::string(tensor) + "\": \"" + file + '"';
  };
  const std::string a = entry("a.weight", first), b = entry("b.weight", first), c = entry("c.weight", second);
  CHECK(error_with('{' + a + ',' + b + ',' + c + '}', cke::errc::usage) == "");

  CHECK(error_with('{' + a + ',' + c + '}', cke::errc::tensor_unknown) ==
        one +
            ": tensor b.weight: expected a tensor that the index maps here, found one that the "
            "index does not have");
  CHECK(error_with('{' + a + ',' + entry("b.weight", second) + ',' + c + '}', cke::errc::tensor_unknown) ==
        one + ": tensor b.weight: expected a tensor that the index maps here, found one mapped to " + second);
  CHECK(error_with('{' + a + ',' + b + ',' + c + ',' + entry("d", second) + '}', cke::errc::tensor_missing) ==
        two + ": tensor d: expected a tensor of this name, found none");
  CHECK(error_with('{' + a + ',' + b + ',' + c + ',' + c + '}', cke::errc::malformed).ends_with("found two"));
  CHECK(error_with('{' + a + ',' + b + ',' + entry("c.weight", "gone") + '}', cke::errc::file) ==
        tmp.dir() + "/gone: expected a readable file, found No such file or directory");

  // the same tensor in both files
  tmp.write(second, damage::content(one));
  CHECK(error_with('{' + a + ',' + b + ',' + c + '}', cke::errc::tensor_unknown) ==
        two + ": tensor a.weight: expected a tensor that the index maps here, found one mapped to " + first);
}

TEST_CASE("hf_dir: a shard is a file of the directory") {
  const damage::scratch tmp;
  for (const char* name : {"", ".", "..", "../model.safetensors", "/etc/passwd", "a/b", "a\\\\b", "a\\u0000b"}) {
    tmp.write(index_name, R"({"weight_map": {"t": ")" + std::string(name) + "\"}}");
    const auto text = error_of([&] { cke::io::read_hf_weights(tmp.dir()); });
    CHECK_MESSAGE(text.starts_with(tmp.dir() + '/' + index_name +
                                   ": weight_map: t: expected the plain name of a file in this directory"),
                  text);
  }
  for (const char* value : {"1", "null", "true", "-1", "1.5", "[]", "{}"}) {
    tmp.write(index_name, R"({"weight_map": {"t": )" + std::string(value) + "}}");
    CHECK(error_of([&] { cke::io::read_hf_weights(tmp.dir()); }).find("weight_map: t: expected") != std::string::npos);
  }
  tmp.write(index_name, R"({"weight_map": {}})");
  CHECK(error_of([&] {
          cke::io::read_hf_weights(tmp.dir());
        }).ends_with("expected a weight_map with tensors, found none"));
  for (const char* map : {"[]", "\"x\"", "7"}) {
    tmp.write(index_name, R"({"weight_map": )" + std::string(map) + "}");
    CHECK(error_of([&] { cke::io::read_hf_weights(tmp.dir()); }).find("weight_map: expected") != std::string::npos);
  }
}

}  // namespace hf_dir_test
