// SPDX-License-Identifier: MIT
// profile_file.cpp: implements profile_file.hpp.
#include "profile_file.hpp"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include <cke/core/error.hpp>
#include <cke/io/new_file.hpp>
#include <cke/runtime/team.hpp>

namespace cke::tool {
namespace {

constexpr u32 version = 1;
constexpr std::string_view decided_by_the_type[]{"computePrecision", "q4kMatmul", "f16Matmul", "q4kLayout"};
constexpr std::size_t most_bytes = 1 << 16, longest_text = 1 << 10;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(errc::file, path, {}, "a profile that can be read", std::strerror(errno));
  std::string text(most_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > most_bytes)
    throw Error(errc::malformed, path, "profile", concat({"at most ", u64{most_bytes}, " bytes"}), "more");
  return text;
}

// A value of the file, with the keys that lead to it.
class entry {
 public:
  entry(YAML::Node is, std::string key, const std::string& path) : is_(is), key_(std::move(key)), path_(path) {}

  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    const auto line = static_cast<u64>(std::max(is_.Mark().line, 0)) + 1;
    throw Error(errc::malformed, path_, concat({"line ", line, key_.empty() ? "" : ", ", key_}), expected, found);
  }
  std::string shown() const {
    return is_.IsScalar()  ? concat({"\"", is_.Scalar(), "\""})
        : is_.IsMap()      ? "a map"
        : is_.IsSequence() ? "a list"
                           : "nothing";
  }
  std::string text() const {
    if (!is_.IsScalar() || is_.Scalar().empty()) fail("a text", shown());
    if (is_.Scalar().size() > longest_text) fail(concat({"at most ", u64{longest_text}, " characters"}), shown());
    return is_.Scalar();
  }
  template <class T> T number(T least, T most, const char* expected) const {
    const std::string digits = is_.IsScalar() ? is_.Scalar() : "";
    T n{};
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (failed != std::errc{} || end != digits.data() + digits.size() || !(n >= least && n <= most))
      fail(expected, shown());
    return n;
  }
  // Calls take(key, value) for each; it returns false for a key that it does not know, of which `known` are all.
  template <class F> void each(const std::string& known, F take) const {
    if (!is_.IsMap()) fail(concat({"a map of ", known}), shown());
    std::vector<std::string> before;
    for (const auto& pair : is_) {
      const YAML::Node &key = pair.first, &value = pair.second;
      const entry at_key(key, key_, path_);
      if (!key.IsScalar()) at_key.fail(concat({"a key: ", known}), at_key.shown());
      if (std::ranges::find(before, key.Scalar()) != before.end())
        at_key.fail(concat({"each key once"}), concat({key.Scalar(), " again"}));
      before.push_back(key.Scalar());
      if (!take(key.Scalar(), entry(value, concat({key_, key_.empty() ? "" : ".", key.Scalar()}), path_)))
        at_key.fail(concat({"one of ", known}), concat({"\"", key.Scalar(), "\""}));
    }
  }

 private:
  YAML::Node is_;
  std::string key_;
  const std::string& path_;
};

void read_device(const entry& device, hint_profile& p) {
  device.each("cpu, threads", [&](const std::string& key, const entry& value) {
    if (key == "cpu") return p.is_for.cpu = value.text(), true;
    if (key == "threads")
      return p.is_for.threads = value.number(1u, team::max_threads, "a number from 1 to 1024"), true;
    return false;
  });
}

u32 value_of(const knob& k, const entry& value) {
  const std::optional<u32> n = k.value(value.text());
  if (!n) value.fail(k.range(), value.shown());
  return *n;
}
void read_hints(const entry& hints, hint_profile& p) {
  hints.each(knob_names() + ", tunedDevice, benchmarkTokPerSec", [&](const std::string& key, const entry& value) {
    if (key == "tunedDevice") return p.tuned_device = value.text(), true;
    if (key == "benchmarkTokPerSec")
      return p.tokens_per_second = value.number(0.0, 1e9, "tokens per second, at most 1e9"), true;
    const knob* const k = knob_named(key);
    if (!k && std::ranges::find(decided_by_the_type, key) != std::end(decided_by_the_type))
      value.fail("a knob that changes no answer: the number format of the weights decides this (--format)", key);
    if (!k) return false;
    k->write(p.hints, value_of(*k, value));
    return true;
  });
}
void read_layers(const entry& layers, hint_profile& p) {
  layers.each("ranges of layers", [&](const std::string& range, const entry& of_range) {
    std::string expected;
    layer_hints* const l = layers_named(range, p.hints, expected);
    if (!l) of_range.fail(expected, concat({"\"", range, "\""}));
    of_range.each(layer_knob_names(), [&](const std::string& key, const entry& value) {
      const knob* const k = knob_named(key);
      if (!k || !k->write_of_layers) return false;
      k->write_of_layers(*l, value_of(*k, value));
      return true;
    });
    return true;
  });
}

}  // namespace

hint_profile read_profile(const std::string& path) {
  YAML::Node all;
  try {
    all = YAML::Load(text_of(path));
  } catch (const YAML::Exception& e) {
    throw Error(errc::malformed, path, concat({"line ", static_cast<u64>(std::max(e.mark.line, 0)) + 1}), "YAML",
                e.msg);
  }
  hint_profile p;
  bool versioned = false, hinted = false;
  entry(all, "", path)
      .each("name, model, version, program, device, kernelHints, layers",
            [&](const std::string& key, const entry& value) {
              if (key == "name") p.name = value.text();
              else if (key == "model") p.model = value.text();
              else if (key == "version") value.number(version, version, "1, the version of profiles"), versioned = true;
              else if (key == "program") p.is_for.program = value.text();
              else if (key == "device") read_device(value, p);
              else if (key == "kernelHints") read_hints(value, p), hinted = true;
              else if (key == "layers") read_layers(value, p);
              else return false;
              return true;
            });
  if (!versioned || !hinted)
    throw Error(errc::malformed, path, versioned ? "kernelHints" : "version", "this key", "none");
  return p;
}

void check_target(const hint_profile& p, const hint_profile::target& here, const std::string& path) {
  const auto check = [&](const char* key, const std::string& is, const std::string& wanted) {
    if (!is.empty() && is != wanted)
      throw Error(errc::config_mismatch, path, key,
                  concat({wanted, ", which runs here: cke tune writes a profile for it"}), is);
  };
  check("program", p.is_for.program, here.program);
  check("device.cpu", p.is_for.cpu, here.cpu);
  if (p.is_for.threads) check("device.threads", concat({p.is_for.threads}), concat({here.threads}));
}

void write_profile(const std::string& path, const hint_profile& p) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  out << YAML::Key << "name" << YAML::Value << YAML::DoubleQuoted << p.name;
  out << YAML::Key << "model" << YAML::Value << YAML::DoubleQuoted << p.model;
  out << YAML::Key << "version" << YAML::Value << version;
  out << YAML::Key << "program" << YAML::Value << YAML::DoubleQuoted << p.is_for.program;
  out << YAML::Key << "device" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "cpu" << YAML::Value << YAML::DoubleQuoted << p.is_for.cpu;
  out << YAML::Key << "threads" << YAML::Value << p.is_for.threads << YAML::EndMap;
  out << YAML::Key << "kernelHints" << YAML::Value << YAML::BeginMap;
  for (const knob& k : knobs)
    if (const auto value = k.read(p.hints)) out << YAML::Key << std::string(k.name) << YAML::Value << k.text(*value);
  out << YAML::Key << "tunedDevice" << YAML::Value << YAML::DoubleQuoted << p.tuned_device;
  out << YAML::Key << "benchmarkTokPerSec" << YAML::Value << YAML::Precision(4) << p.tokens_per_second;
  out << YAML::EndMap;
  if (p.hints.layers.size()) out << YAML::Key << "layers" << YAML::Value << YAML::BeginMap;
  for (const layer_hints& l : p.hints.layers) {
    out << YAML::Key << YAML::DoubleQuoted << range_text(l) << YAML::Value << YAML::BeginMap;
    for (const knob& k : knobs)
      if (const auto value = k.read_of_layers(l))
        out << YAML::Key << std::string(k.name) << YAML::Value << k.text(*value);
    out << YAML::EndMap;
  }
  if (p.hints.layers.size()) out << YAML::EndMap;
  out << YAML::EndMap;
  const std::string text = concat({out.c_str(), "\n"});
  new_file to(path, text.size(), new_file::existing::replaced);
  to.write(std::as_bytes(std::span(text)));
  to.commit();
}

}  // namespace cke::tool
