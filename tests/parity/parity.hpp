// SPDX-License-Identifier: MIT
// parity.hpp: a checkpoint of tests/data/models through cke, against what transformers made of it.
#pragma once

#include <doctest/doctest.h>

#include <cke/from_config.hpp>
#include <cke/hf.hpp>
#include <cke/llama.hpp>
#include <cke/qwen3.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "../family_status.hpp"
#include "configs.hpp"

namespace parity {

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using family_status::column, family_status::establishes, family_status::family_in;

// mission.md 4.3: f32 against transformers. Numbers that were bf16, f16 or q8_0 and are computed
// with as f32 are held to it too: the expected logits are those of the same upcast numbers.
inline constexpr double exact = 1e-4;
// Root mean square of the error over that of the logits. The narrow formats round activations as
// well, and keep keys and values as bf16.
inline constexpr double f32_tolerance = 1e-6, f16_tolerance = 6e-3, bf16_tolerance = 1e-2, q8_0_tolerance = 2e-2;

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string model_path(const std::string& name) { return CKE_TEST_DATA "/models/" + name; }

inline std::vector<u32> read_ids(const std::string& path) {
  return nlohmann::json::parse(content(path)).get<std::vector<u32>>();
}

// A numpy file of little-endian float32: magic, version 1.0, u16 size of a header, numbers.
inline std::vector<float> read_npy(const std::string& path) {
  const std::string file = content(path);
  REQUIRE(file.size() > 10);
  const std::size_t begin = 10u + static_cast<unsigned char>(file[8]) + 256u * static_cast<unsigned char>(file[9]);
  REQUIRE(file.substr(0, begin).find("'<f4', 'fortran_order': False") != file.npos);
  std::vector<float> numbers((file.size() - begin) / sizeof(float));
  std::memcpy(numbers.data(), file.data() + begin, numbers.size() * sizeof(float));
  return numbers;
}

// One prompt and what transformers answers: stem + "ids.json", "logits.npy" and "greedy.json".
struct expected {
  std::vector<u32> ids, greedy;
  std::vector<float> logits;  // [ids, vocab]

  explicit expected(const std::string& stem)
      : ids(read_ids(stem + "ids.json")),
        greedy(read_ids(stem + "greedy.json")),
        logits(read_npy(stem + "logits.npy")) {}
};

inline checkpoint open(const std::string& name) {
  return name.ends_with(".gguf") ? gguf_checkpoint(model_path(name)) : hf(model_path(name));
}

// How far two sets of logits are apart: the largest difference, and the root mean square of all
// over that of the second.
struct distance {
  double most = 0, relative = 0;
  distance(std::span<const float> ours, std::span<const float> theirs) {
    REQUIRE(ours.size() == theirs.size());
    double error = 0, size = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const double a = static_cast<double>(ours[i]), b = static_cast<double>(theirs[i]);
      most = std::abs(a - b) <= most ? most : std::abs(a - b);  // a NaN stays
      error += (a - b) * (a - b);
      size += b * b;
    }
    relative = std::sqrt(error / size);
  }
};

// All logits of the prompt, in passes that cut it unevenly.
template <class Model> std::vector<float> logits_of(const Model& model, std::span<const u32> ids) {
  std::vector<float> all;
  auto session = model.session();
  session.feed_all(ids, [&](u32, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  return all;
}

template <class Model> std::vector<u32> greedy(const Model& model, std::span<const u32> ids, std::size_t count) {
  auto session = model.session();
  auto answer = session.generate(ids, {.max_tokens = static_cast<u32>(count), .ignore_stop_ids = true});
  for ([[maybe_unused]] const std::string_view piece : answer) {}
  return {answer.ids().begin(), answer.ids().end()};
}

inline constexpr u32 chunk = 17;
static_assert(chunk > decode_rows);
inline model_options options(u32 context) {
  return {.threads = 2, .context = context, .chunk = chunk, .logit_rows = 3};
}

// The same bits id by id, in passes of one, as in the passes that `logits_of` makes.
template <class Model> bool same_id_by_id(const Model& model, std::span<const u32> ids, const std::vector<float>& all) {
  auto session = model.session();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    session.feed(ids.subspan(i, 1));
    if (std::memcmp(session.logits().data(), &all[i * session.logits().size()], session.logits().size_bytes()) != 0)
      return false;
  }
  return true;
}

// The same bits where the other rows of a pass end behind their last state.
template <class Model> bool same_alone(const Model& model, std::span<const u32> ids, const std::vector<float>& all) {
  auto session = model.session();
  const std::size_t count = std::min<std::size_t>(chunk, ids.size());
  session.feed(ids.first(count));
  return std::memcmp(session.logits().data(), &all[(count - 1) * session.logits().size()],
                     session.logits().size_bytes()) == 0;
}

// Logits within `most`, the same bits however the prompt is cut, and the same greedy ids.
template <class Model> void check(const checkpoint& from, const expected& want, double most, u32 context = 96) {
  const Model model = Model::load(from, options(context));
  const std::vector<float> logits = logits_of(model, want.ids);
  const distance d(logits, want.logits);
  CAPTURE(from.name);
  CHECK(d.most <= most);
  CHECK(same_id_by_id(model, want.ids, logits));
  CHECK(same_alone(model, want.ids, logits));
  CHECK(greedy(model, want.ids, want.greedy.size()) == want.greedy);
}

// A directory in f32. Its config.json is the one that the type was made of, and the published
// spelling of it, where there is one, describes the same model.
template <const auto& Config> void check_directory(const std::string& name, u32 context = 96) {
  const std::string dir = model_path(name) + '/';
  checkpoint from = open(name);
  CHECK(nlohmann::json::parse(content(dir + "config.json")) == nlohmann::json::parse(Config));
  check<Model<from_config<Config>, F32>>(from, expected(dir), exact, context);
  establishes(family_in(dir + "config.json"), {column::config, column::load_hf, column::logits, column::generation});
  if (!std::filesystem::exists(dir + "published.json")) return;
  from.config = content(dir + "published.json");
  CHECK_NOTHROW(match_config<from_config<Config>>(from, context));
}

// A GGUF file in the format given.
template <class M, class Formats> void check_gguf(const std::string& name, double tolerance) {
  const std::string stem = "gguf/" + name;
  const expected want(model_path(stem) + '.');
  const Model<M, Formats> model = Model<M, Formats>::load(open(stem + ".gguf"), options(96));
  const distance d(logits_of(model, want.ids), want.logits);
  CAPTURE(name);
  CHECK(d.relative <= tolerance);
  CHECK(greedy(model, want.ids, want.greedy.size()) == want.greedy);
  establishes(std::string(name_in<typename M::family>(naming::hf)),
              {column::load_gguf, column::logits, column::generation});
}

// Of mixers that others compute in chunks of 64: after 1, 63, 64 and 65 ids, against transformers in float64.
template <class Model> void check_lengths(const checkpoint& from, const std::string& path) {
  const nlohmann::json prompt = nlohmann::json::parse(content(path + "/long.json"));
  const auto ids = prompt["ids"].get<std::vector<u32>>();
  const Model model = Model::load(from, options(96));
  const std::vector<float> logits = logits_of(model, ids), want = read_npy(path + "/long.npy");
  const std::size_t vocab = logits.size() / ids.size();
  std::vector<float> found;
  for (const std::size_t row : prompt["rows"].get<std::vector<std::size_t>>())
    found.insert(found.end(), logits.begin() + static_cast<std::ptrdiff_t>(row * vocab),
                 logits.begin() + static_cast<std::ptrdiff_t>((row + 1) * vocab));
  CHECK(distance(found, want).most <= exact);
  CHECK(same_id_by_id(model, ids, logits));
}

// A family of tests/data/families, in f32, against float64: as a directory and as GGUF, with one type unless said
// otherwise.
template <const auto& Config, class InGguf = from_config<Config>> void check_family(const std::string& name,
                                                                                    double most = exact) {
  using model = Model<from_config<Config>, F32>;
  const std::string path = CKE_TEST_DATA "/families/" + name;
  CHECK(nlohmann::json::parse(content(path + "/config.json")) == nlohmann::json::parse(Config));
  const expected want(path + '/');
  check<model>(hf(path), want, most);
  if (std::filesystem::exists(path + "/long.json")) check_lengths<model>(hf(path), path);
  const std::string family = family_in(path + "/config.json");
  establishes(family, {column::config, column::load_hf, column::logits, column::generation});
  if (!std::filesystem::exists(path + ".gguf")) return;
  check<Model<InGguf, F32>>(gguf_checkpoint(path + ".gguf"), want, most);
  establishes(family, {column::load_gguf});
}

}  // namespace parity
