// SPDX-License-Identifier: MIT
// bundle.cpp: cke pack, and bundles as models: the same bits, and a refusal of all that is damaged, stale or of others.
#include "bundle_file.hpp"

using namespace command;
using nlohmann::json;

namespace {

const std::vector<std::string> some{"--tokens", "1,2,3,40,50", "-o"};

std::string logits_of(const fs::path& model, const scratch& dir, std::vector<std::string> options = {}) {
  std::vector<std::string> words{"logits", model};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), some.begin(), some.end());
  words.push_back(dir / "logits.npy");
  const result r = command::run_cke(words);
  CHECK_SUCCESS(r);
  return content(dir / "logits.npy");
}
fs::path pack(const fs::path& model, const fs::path& out, std::vector<std::string> options = {}) {
  std::vector<std::string> words{"pack", model, "-o", out};
  words.insert(words.end(), options.begin(), options.end());
  const result r = command::run_cke(words);
  REQUIRE_MESSAGE(r.status == 0, show(r));
  return out;
}
// What was packed from a copy of the small model, and that copy.
struct packed {
  scratch dir;
  fs::path model, file;
  explicit packed(const std::vector<std::string>& options = {})
      : model(dir.copy(tiny)), file(pack(model, dir / "tiny.cke", options)) {}
  // The files with weights beside it, by name.
  std::vector<fs::path> parts() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(file.parent_path()))
      if (entry.path().extension() == ".cke-part") all.push_back(entry.path());
    std::ranges::sort(all);
    return all;
  }
};
result use(const fs::path& bundle, const scratch& dir) {
  return command::run_cke({"logits", bundle, "--tokens", "1,2", "--last", "-o", dir / "one.npy"}, {.seconds = 20});
}

}  // namespace

TEST_CASE("bundle: the bits of the model that it was packed from, in every command") {
  const packed p;
  CHECK(logits_of(p.file, p.dir) == logits_of(p.model, p.dir));
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"run", "-p", "Once upon a time", "-n", "12"},
           {"run", "--tokens", "1,2,3", "-n", "8", "--ids", "--temp", "1", "--seed", "7"},
           {"embed", "-p", "a text", "--json"},
           {"tokenize", "-p", "Once upon a time"},
           {"detokenize", "--tokens", "40,41,42"}}) {
    std::vector<std::string> from = words, of = words;
    from.insert(from.begin() + 1, p.file), of.insert(of.begin() + 1, p.model);
    const result a = command::run_cke(from), b = command::run_cke(of);
    INFO(words[0]);
    CHECK_SUCCESS(a);
    CHECK(a.out == b.out);
  }
  const result said = command::run_cke({"chat", p.file, "-n", "8", "--temp", "0"}, {.input = "Hello\n"});
  CHECK(said.status == 0);
  CHECK(said.out == command::run_cke({"chat", p.model, "-n", "8", "--temp", "0"}, {.input = "Hello\n"}).out);
  const result what = command::run_cke({"inspect", p.file, "--json"});
  CHECK_SUCCESS(what);
  json facts = json::parse(what.out), source = json::parse(command::run_cke({"inspect", p.model, "--json"}).out);
  CHECK(facts["bundle"]["packed_from"] == p.model.string());
  facts.erase("bundle"), facts.erase("file"), source.erase("file");
  CHECK(facts == source);
  const auto ranks_of = [](const fs::path& model) {
    const result r = command::run_cke({"inspect", model, "--ranks", "2", "--json"});
    CHECK_SUCCESS(r);
    return json::parse(r.out, nullptr, false)["ranks"];
  };
  CHECK(ranks_of(p.file) == ranks_of(p.model));
  CHECK_SUCCESS(command::run_cke({"bench", p.file, "-p", "8", "-n", "4", "-r", "1"}));
}

TEST_CASE("bundle: other formats, a GGUF file, other keys and values") {
  const scratch dir;
  const fs::path q8 = pack(tiny, dir / "q8.cke", {"--format", "q8_0"});
  CHECK(logits_of(q8, dir) == logits_of(tiny, dir, {"--format", "q8_0"}));
  CHECK(logits_of(q8, dir, {"--format", "q8_0"}) == logits_of(q8, dir));
  CHECK_MISUSED(command::run_cke({"run", q8, "--tokens", "1", "--format", "f32"}),
                "--format: expected q8_0, as its weights are");
  REQUIRE(command::run_cke({"quantize", tiny, dir / "k.gguf", "--to", "q4_k_m"}).status == 0);
  const fs::path k = pack(dir / "k.gguf", dir / "k.cke");
  CHECK(logits_of(k, dir) == logits_of(dir / "k.gguf", dir));
  CHECK(command::run_cke({"tokenize", k, "-p", "It is."}).out ==
        command::run_cke({"tokenize", dir / "k.gguf", "-p", "It is."}).out);
}

TEST_CASE("bundle: packed anew it keeps its type of keys and values, unless another format or type is asked for") {
  const packed p({"--kv", "f32"});
  const auto kv = [&] {
    const result r = command::run_cke({"inspect", p.file, "--json"});
    CHECK_SUCCESS(r);
    return json::parse(r.out).at("kv").get<std::string>();
  };
  CHECK(kv() == "f32");
  const std::string first = content(p.file);
  pack(p.file, p.file, {"--replace"});
  CHECK(kv() == "f32");
  CHECK(content(p.file) == first);
  pack(p.file, p.file, {"--replace", "--kv", "q8_0"});
  CHECK(kv() == "q8_0");
  pack(p.file, p.file, {"--replace", "--format", "q8_0"});
  CHECK(kv() == "bf16");
}

TEST_CASE("bundle: one that is stale, of another cke or instruction set, or in the way is named") {
  const packed p;
  const bundle_file good(p.file);
  CHECK_REFUSED(command::run_cke({"pack", p.model, "-o", p.file}), "tiny.cke: expected a name that is free");
  CHECK_SUCCESS(command::run_cke({"pack", p.model, "-o", p.file, "--replace"}));
  CHECK(content(p.file) == good.bytes);  // equal models make equal bundles

  const auto changed = [&](const char* key, auto change) {
    bundle_file other = good;
    json all = other.manifest();
    change(all);
    other.put_manifest(all.dump());
    write(p.dir / "other.cke", other.bytes);
    const result r = use(p.dir / "other.cke", p.dir);
    CHECK_REFUSED(r, "other.cke: ");
    CHECK_MESSAGE(r.err.find(key) != r.err.npos, r.err);
  };
  changed("manifest key cke", [](json& m) { m["cke"] = "0.0.0"; });
  changed("instruction set of packed weights: expected", [](json& m) { m["form"]["isa"] = "abacus"; });
  changed("layout of packed weights", [](json& m) { m["form"]["layout"] = 9999; });
  changed("program of packed weights", [](json& m) { m["form"]["program"] = "0000000000000000"; });
  changed("manifest key model.type", [](json& m) { m["model"]["type"] = "cke::another<{}>"; });
  bundle_file future = good;
  future.bytes[8] = 77;
  write(p.dir / "future.cke", future.bytes);
  CHECK_REFUSED(use(p.dir / "future.cke", p.dir), "header version: expected 1: pack the model again, found 77");
  // Of another version of cke, but packed anew from what it names.
  bundle_file old = good;
  json all = old.manifest();
  all["cke"] = "0.0.0", all.erase("weights");
  old.put_manifest(all.dump());
  write(p.dir / "old.cke", old.bytes);
  CHECK_SUCCESS(command::run_cke({"pack", p.dir / "old.cke", "-o", p.dir / "old.cke", "--replace"}));
  CHECK(content(p.dir / "old.cke") == good.bytes);

  const fs::path config = p.model / "config.json";
  const auto when = fs::last_write_time(config);
  fs::last_write_time(config, when + std::chrono::seconds(5));
  CHECK(use(p.file, p.dir).status == 0);  // touched, and still the same
  write(config, content(config) + " ");
  CHECK_REFUSED(use(p.file, p.dir), "config.json: expected the file that it was packed from");
  fs::remove_all(p.model);
  CHECK(use(p.file, p.dir).status == 0);
  for (const char* command : {"quantize", "convert"})
    CHECK(command::run_cke({command, p.file, p.dir / "x", "-o", p.dir / "y", "--to", "bf16"}).status != 0);
  CHECK_MISUSED(command::run_cke({"quantize", p.file, p.dir / "x.gguf", "--to", "q8_0"}),
                "found a bundle, whose weights are packed");
}

TEST_CASE("bundle: a model with a tower is not packed") {
  const scratch dir;
  CHECK_REFUSED(command::run_cke({"pack", CKE_ASSETS "/sight", "-o", dir / "x.cke"}),
                "pack: expected a model that reads text alone");
  CHECK_FALSE(fs::exists(dir / "x.cke"));
}

TEST_CASE("bundle: any byte that is cut off or flipped, and any parts that are swapped, are found") {
  const packed p;
  const bundle_file good(p.file);
  const fs::path bad = p.dir / "bad.cke";
  const auto refused = [&](const std::string& bytes, const std::string& what) {
    write(bad, bytes);
    const result r = use(bad, p.dir);
    CHECK_MESSAGE((is_refusal(r) && r.err.find("bad.cke") != r.err.npos), what << '\n' << show(r));
  };
  for (std::size_t i = 1; i < 25; ++i)
    refused(good.bytes.substr(0, good.bytes.size() * i / 25), "cut at " + std::to_string(i) + " / 25");
  for (const std::size_t less : {1u, 64u, 4096u})
    refused(good.bytes.substr(0, good.bytes.size() - less), std::to_string(less) + " bytes less");
  refused(good.bytes + std::string(64, '\0'), "64 bytes more");

  const auto flip = [&](std::size_t at, std::size_t bit) {
    std::string bytes = good.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    refused(bytes, "bit " + std::to_string(bit) + " of byte " + std::to_string(at));
  };
  for (std::size_t at = 0; at < bundle_file::header_bytes; at += 2) flip(at, at / 2 % 8);
  const std::size_t manifest = good.manifest_bytes(), vocabulary = good.vocabulary_at(), weights = good.weights_at();
  for (std::size_t i = 0; i < 20; ++i) flip(bundle_file::manifest_at + i * 40503 % manifest, i % 8);
  for (std::size_t i = 0; i < 8; ++i)
    flip(bundle_file::manifest_at + manifest + i * 977 % (vocabulary - 48 - manifest), 0);
  for (std::size_t i = 0; i < 20; ++i) flip(vocabulary + i * 40503 % (weights - vocabulary), i % 8);
  for (std::size_t i = 0; i < 30; ++i) flip(weights + i * 1299709 % (good.bytes.size() - weights), i % 8);
  flip(good.bytes.size() - 1, 7);

  const auto swap = [&](std::size_t a, std::size_t b, std::size_t size) {
    std::string bytes = good.bytes;
    std::swap_ranges(bytes.begin() + static_cast<long>(a), bytes.begin() + static_cast<long>(a + size),
                     bytes.begin() + static_cast<long>(b));
    refused(bytes, "swapped " + std::to_string(a) + " and " + std::to_string(b));
  };
  for (std::size_t i = 0; i < 10; ++i) swap(weights + i * 65536, weights + (i + 12) * 65536, 64 << i);
  swap(0, 8, 8), swap(vocabulary, weights, 4096), swap(bundle_file::manifest_at, vocabulary, 1024);
}

namespace {

// Attempts on every field of a manifest.
void damage_every_field(const packed& p) {
  const bundle_file good(p.file);
  const json all = good.manifest();
  const fs::path bad = p.dir / "bad.cke";
  const auto use_with = [&](const json& manifest) {
    bundle_file other = good;
    other.put_manifest(manifest.dump());
    write(bad, other.bytes);
    return use(bad, p.dir);
  };
  REQUIRE(use_with(all).status == 0);
  const std::string right = content(p.dir / "one.npy");
  // Every value, the first and last of a list: gone, of another type, larger, smaller.
  std::size_t tried = 0;
  const auto attempt = [&](const json::json_pointer& at, const char* what, auto change, bool must_refuse) {
    json other = all;
    change(other);
    fs::remove(p.dir / "one.npy");
    const result r = use_with(other);
    const bool refused = is_refusal(r) && r.err.find("bad.cke") != r.err.npos;
    const bool same = r.status == 0 && r.signal == 0 && content(p.dir / "one.npy") == right;
    CHECK_MESSAGE((refused || (same && !must_refuse)), at.to_string() << ' ' << what << '\n' << show(r));
    ++tried;
  };
  const auto walk = [&](auto& self, const json& is, const json::json_pointer& at) -> void {
    if (!at.empty()) {
      attempt(at, "of another type", [&](json& m) { m[at] = is.is_boolean() ? json("x") : json(true); }, true);
      const bool item = all[at.parent_pointer()].is_array();
      if (!item) attempt(at, "gone", [&](json& m) { m[at.parent_pointer()].erase(at.back()); }, true);
      if (is.is_number()) {
        attempt(at, "one more", [&](json& m) { m[at] = is.get<cke::u64>() + 1; }, false);
        attempt(at, "huge", [&](json& m) { m[at] = ~cke::u64{}; }, false);
        attempt(at, "negative", [&](json& m) { m[at] = -1; }, true);
      }
      if (is.is_string()) attempt(at, "another text", [&](json& m) { m[at] = "x"; }, false);
    }
    if (is.is_object())
      for (const auto& [key, value] : is.items()) self(self, value, at / key);
    if (is.is_array() && !is.empty()) {
      attempt(at, "shorter", [&](json& m) { m[at].erase(m[at].size() - 1); }, false);
      self(self, is.front(), at / 0);
    }
  };
  walk(walk, all, json::json_pointer());
  CHECK(tried > 80);
}

}  // namespace

TEST_CASE("bundle: a manifest that is signed but wrong in any field is refused by that field") {
  damage_every_field(packed());
}

TEST_CASE("bundle: weights in files beside it have the same bits") {
  const packed whole({"--format", "f32"}), p({"--format", "f32", "--shard-size", "2MB"});
  CHECK(logits_of(p.file, p.dir) == logits_of(whole.file, whole.dir));
  CHECK(p.parts().size() == 3);
  fs::create_directory(p.dir / "other");
  for (const fs::path& part : p.parts()) fs::copy(part, p.dir / "other");
  fs::copy(p.file, p.dir / "other" / "renamed.cke");
  CHECK(logits_of(p.dir / "other" / "renamed.cke", p.dir) == logits_of(whole.file, whole.dir));
  // Another bundle in its place takes away what it no longer needs.
  pack(p.model, p.file, {"--replace", "--format", "f32", "--shard-size", "4MB"});
  CHECK(p.parts().size() == 2);
  pack(p.model, p.file, {"--replace", "--format", "f32"});
  CHECK(p.parts().empty());
  CHECK(content(p.file).size() == content(whole.file).size());
  CHECK_MISUSED(command::run_cke({"pack", p.model, "-o", p.dir / "x.cke", "--shard-size", "1MB"}),
                "--shard-size: expected ");
}

TEST_CASE("bundle: one that cannot be packed takes no files away from another") {
  const packed p({"--format", "f32", "--shard-size", "2MB"});
  const auto parts = p.parts();
  REQUIRE(parts.size() == 3);
  fs::rename(p.file, p.dir / "b.cke");  // its parts keep their names, which those of the next one have too
  const std::vector<std::string> again{"pack", p.model, "-o", p.file, "--format", "f32", "--shard-size", "2MB"};
  const setting full{.file_size = 1 << 20};  // there is room for the bundle, and for none of its parts
  CHECK_REFUSED(command::run_cke(again, full), "expected a file that can be written");
  CHECK_FALSE(fs::exists(p.file));
  CHECK(p.parts() == parts);
  CHECK_SUCCESS(use(p.dir / "b.cke", p.dir));
  // What it wrote itself goes: the first part, when the second cannot take its place.
  for (const fs::path& part : parts) fs::remove(part);
  fs::create_directory(parts[1]);
  CHECK_REFUSED(command::run_cke(again), "expected a file, or nothing, to be replaced");
  CHECK(p.parts() == std::vector<fs::path>{parts[1]});
}

TEST_CASE("bundle: files beside it that are gone, others or damaged are refused by name") {
  const packed p({"--format", "f32", "--shard-size", "2MB"});
  const auto parts = p.parts();
  REQUIRE(parts.size() == 3);
  for (const fs::path& part : parts) {
    const std::string good = content(part), name = "its part " + part.filename().string();
    fs::remove(part);
    CHECK_REFUSED(use(p.file, p.dir),
                  name + ": expected a file beside the bundle that can be read, found No such file");
    fs::create_directory(part);
    CHECK_REFUSED(use(p.file, p.dir), name + ": expected a regular file");
    fs::remove(part);
    for (const std::size_t size : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
      write(part, good.substr(0, size));
      CHECK_REFUSED(use(p.file, p.dir), name + ": expected ");
    }
    for (std::size_t at = 0; at < good.size(); at += good.size() / 5) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
      write(part, bad);
      CHECK_REFUSED(use(p.file, p.dir), "in " + name);
    }
    write(part, good);
  }
  fs::rename(parts[0], p.dir / "x"), fs::rename(parts[1], parts[0]), fs::rename(p.dir / "x", parts[1]);
  CHECK_REFUSED(use(p.file, p.dir), "in its part " + parts[0].filename().string());
}

TEST_CASE("bundle: every field of a manifest with files beside it") {
  damage_every_field(packed({"--format", "f32", "--shard-size", "2MB"}));
}
