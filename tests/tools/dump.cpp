// SPDX-License-Identifier: MIT
// dump.cpp: cke dump, compare and bisect: values by name, against transformers, against themselves, and with faults.
#include <cke/io/safetensors.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "npy.hpp"

using namespace command;
using nlohmann::json;

namespace {

const std::string families = CKE_TEST_DATA "/families/", references = CKE_TEST_DATA "/steps/";
const std::string qwen = families + "qwen3_moe", granite = families + "granitemoehybrid";
const std::string ids = "5,9,200,17,3";

result dump(const std::string& model, const fs::path& to, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"dump", model, "--format", "f32", "--tokens", ids, "-o", to});
  return command::run_cke(more);
}
json index_of(const fs::path& dir) { return json::parse(content(dir / "index.json")); }
fs::path file_of(const fs::path& dir, int layer, const std::string& name) {
  const json index = index_of(dir);
  for (const json& v : index["values"])
    if (v["layer"] == layer && v["name"] == name) return dir / v["file"].get<std::string>();
  FAIL("no value ", name);
  return {};
}
std::vector<std::string> names_of(const fs::path& dir, int layer) {
  std::vector<std::string> all;
  const json index = index_of(dir);
  for (const json& v : index["values"])
    if (v["layer"] == layer) all.push_back(v["name"]);
  return all;
}
// Adds `by` to number `at` of a .npy file, or of any bytes that end in numbers, counted from the first of `count`.
void change(const fs::path& file, std::size_t count, std::size_t at, float by) {
  std::string bytes = content(file);
  char* const to = bytes.data() + bytes.size() - (count - at) * sizeof(float);
  float x;
  std::memcpy(&x, to, sizeof x);
  x += by;
  std::memcpy(to, &x, sizeof x);
  write(file, bytes);
}

// More ids than the rows for which the steps after the layers run at once, so that their values come in parts.
std::string many_ids() {
  std::string all = "1";
  for (int i = 2; i <= 40; ++i) all += ',' + std::to_string(i);
  return all;
}

// One dump of qwen3_moe that tests read.
const fs::path& usual_dump() {
  static const scratch dir;
  static const fs::path path = [] {
    const result r = dump(qwen, dir / "dump");
    CHECK_SUCCESS(r);
    return dir / "dump";
  }();
  return path;
}

}  // namespace

TEST_CASE("dump: every value has a name and a file, and the last is what cke logits writes, to the bit") {
  const fs::path& dir = usual_dump();
  CHECK(names_of(dir, 0) ==
        std::vector<std::string>{"norm", "q", "k", "v", "q_norm", "k_norm", "rope.q", "rope.k", "attend", "o",
                                 "residual_add", "norm.1", "router", "route", "gather", "expert_act", "expert_sum",
                                 "residual_add.1"});
  CHECK(names_of(dir, -1) == std::vector<std::string>{"embed", "norm", "logits"});
  const scratch other;
  const result r = command::run_cke({"logits", qwen, "--format", "f32", "--tokens", ids, "-o", other / "l.npy"});
  CHECK_SUCCESS(r);
  const npy wanted(other / "l.npy"), found(file_of(dir, -1, "logits"));
  CHECK(found.rows == 5);
  CHECK(found.values == wanted.values);
  CHECK(npy(file_of(dir, 2, "gather")).rows == 15);  // three experts a token
  const json index = index_of(dir);
  CHECK(index["tokens"] == json::array({5, 9, 200, 17, 3}));
  CHECK(index["left_out"][0]["name"] == "sort_by_expert");
  CHECK(index["fused"] == false);
}

TEST_CASE("dump --fused: the steps that a model runs, under the same names, with the same bits") {
  const scratch dir;
  const result r = dump(qwen, dir / "fused", {"--fused", "--chunk", "2"});
  CHECK_SUCCESS(r);
  const std::vector<std::string> names = names_of(dir / "fused", 1);
  CHECK(std::ranges::find(names, "q") != names.end());
  CHECK(std::ranges::find(names, "q_norm") == names.end());  // it is inside head_norm_rope
  const result same = command::run_cke({"compare", dir / "fused", usual_dump(), "--tolerance", "0"});
  // the order of experts' rows is that of a pass
  CHECK_MESSAGE(same.out.find(" 1      head_norm_rope") != same.out.npos, show(same));
  CHECK(npy(file_of(dir / "fused", -1, "logits")).values == npy(file_of(usual_dump(), -1, "logits")).values);
}

TEST_CASE("dump: patterns, layers, the step to stop at, counters, and CKDMP with the same numbers") {
  const scratch dir;
  const result some = dump(qwen, dir / "some", {"--ops", "rope.*", "--layers", "0,2"});
  CHECK_SUCCESS(some);
  CHECK(names_of(dir / "some", 0) == std::vector<std::string>{"rope.q", "rope.k"});
  CHECK(names_of(dir / "some", 1).empty());
  CHECK(some.out.starts_with("4 values of 5 tokens, "));
  const result until = dump(qwen, dir / "until", {"--stop-at", "1.attend", "--counters", "--ckdmp"});
  CHECK_SUCCESS(until);
  CHECK(names_of(dir / "until", 1).back() == "attend");
  CHECK(names_of(dir / "until", 2).empty());
  CHECK(until.out.find("attend                2 ") != until.out.npos);
  CHECK(until.out.find("multihead_attention   2\n") != until.out.npos);
  CHECK(fs::exists(dir / "until/steps.ckdmp"));
  const result same = command::run_cke({"compare", dir / "until", usual_dump(), "--tolerance", "0"});
  CHECK_SUCCESS(same);
  CHECK(same.out.find("28 values compared; 0 are in ") != same.out.npos);
}

TEST_CASE("dump, bisect: more ids than the rows of one block of logits") {
  const scratch dir;
  const auto run_with = [&](std::vector<std::string> words, std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
    return command::run_cke(words);
  };
  const std::vector<std::string> dump_many{"dump", qwen, "--format", "f32", "--tokens", many_ids()};
  const result whole = run_with(dump_many, {"-o", dir / "whole"});
  CHECK_SUCCESS(whole);
  const npy logits(file_of(dir / "whole", -1, "logits"));
  CHECK(logits.rows == 40);
  const result until = run_with(dump_many, {"--stop-at", "logits", "-o", dir / "until"});
  CHECK_SUCCESS(until);
  CHECK(npy(file_of(dir / "until", -1, "logits")).values == logits.values);

  const std::vector<std::string> bisect{"bisect", qwen, "--format", "f32", "--tolerance", "0"};
  const result same = run_with(bisect, {"--reference", dir / "whole"});
  CHECK_SUCCESS(same);
  CHECK_MESSAGE(same.out.find(" values are right; 0 are not in the reference\n") != same.out.npos, show(same));
  // A value that the reference lacks counts once, in however many parts it comes.
  json index = index_of(dir / "whole");
  std::erase_if(index["values"].get_ref<json::array_t&>(), [](const json& v) { return v["name"] == "logits"; });
  write(dir / "whole/index.json", index.dump());
  const result less = run_with(bisect, {"--reference", dir / "whole"});
  CHECK_SUCCESS(less);
  CHECK_MESSAGE(less.out.find(" values are right; 1 are not in the reference\n") != less.out.npos, show(less));
}

TEST_CASE("dump: a pass of more ids than a model takes at once has pages for all of them") {
  const scratch dir;
  const fs::path gemma = dir.copy(families + "gemma3_text", "gemma3_text");
  std::string config = content(gemma / "config.json");
  const std::string limit = "\"max_position_embeddings\": 128";
  REQUIRE(config.find(limit) != config.npos);
  write(gemma / "config.json", config.replace(config.find(limit), limit.size(), "\"max_position_embeddings\": 2048"));
  std::string all = "1";
  for (int i = 1; i < 700; ++i) all += ',' + std::to_string(i % 50 + 1);
  for (const std::string& model : {gemma.string(), families + "mamba2"}) {
    CAPTURE(model);
    const fs::path whole = dir / (fs::path(model).filename().string() + "-whole"), parts = whole.string() + "-parts";
    const auto dumped = [&](const fs::path& to, std::vector<std::string> more) {
      more.insert(more.begin(), {"dump", model, "--format", "f32", "--tokens", all, "-o", to, "--ops", "*logits*"});
      const result r = command::run_cke(more);
      CHECK_SUCCESS(r);
    };
    dumped(whole, {});
    dumped(parts, {"--chunk", "64"});
    CHECK_SUCCESS(command::run_cke({"compare", whole, parts, "--tolerance", "0"}));
  }
}

TEST_CASE("dump --list: names without weights or ids; as JSON with registers and weights") {
  const result text = command::run_cke({"dump", qwen, "--list"});
  CHECK_SUCCESS(text);
  CHECK(text.out.find("rope.k") != text.out.npos);
  const json list = json::parse(command::run_cke({"dump", qwen, "--list", "--json"}).out);
  CHECK(list["layers"] == 3);
  CHECK(list["steps"][0]["weights"][0]["hf"] == "model.embed_tokens.weight");
}

TEST_CASE("bisect: every value that transformers' hooks see is right, at 1e-4") {
  for (const auto& [model, family, least] : {std::tuple{qwen, "qwen3_moe", 48}, {granite, "granitemoehybrid", 30}}) {
    CAPTURE(model);
    const result r = command::run_cke({"bisect", model, "--format", "f32", "--reference", references + family});
    CHECK_SUCCESS(r);
    const std::size_t at = r.out.find("all of ");
    REQUIRE(at != r.out.npos);
    CHECK(std::stoi(r.out.substr(at + 7)) >= least);
  }
}

TEST_CASE("bisect: one changed weight of one layer is found by its layer and its product") {
  const scratch dir;
  const fs::path model = dir.copy(qwen);
  std::string bytes = content(model / "model.safetensors");
  std::uint64_t head = 0;
  std::memcpy(&head, bytes.data(), sizeof head);
  const json tensors = json::parse(bytes.substr(8, head));
  const std::size_t at =
      8 + head + tensors["model.layers.1.self_attn.v_proj.weight"]["data_offsets"][0].get<std::size_t>();
  const std::size_t row = 7;                                                          // of 48 numbers, in bf16
  for (std::size_t i = 0; i < 48; ++i) bytes[at + 2 * (row * 48 + i) + 1] ^= '\x80';  // the sign
  write(model / "model.safetensors", bytes);
  const result r = command::run_cke({"bisect", model, "--format", "f32", "--reference", references + "qwen3_moe"});
  CHECK(r.status == 1);
  CHECK_MESSAGE(r.out.find("first wrong: 1.v (matmul); last right: 1.k\n") != r.out.npos, show(r));
  CHECK_MESSAGE(r.err.find("first difference, 1.v: expected ") != r.err.npos, r.err);
  CHECK_MESSAGE(r.err.ends_with("column 7; 6 numbers are wrong, in 6 rows and 1 column\n"), r.err);
}

TEST_CASE("compare: one number off is the first difference; logits have their divergence") {
  const scratch dir;
  fs::copy(usual_dump(), dir / "b");
  change(file_of(dir / "b", 2, "rope.q"), 1, 0, 0.5f);
  change(file_of(dir / "b", -1, "logits"), 1, 0, 0.5f);
  const result r = command::run_cke({"compare", usual_dump(), dir / "b"});
  CHECK(r.status == 1);
  CHECK_MESSAGE(r.err.find("first difference, 2.rope.q: expected ") != r.err.npos, r.err);
  CHECK_MESSAGE(r.err.ends_with("at row 4, column 71; 1 number is wrong, in 1 row and 1 column\n"), r.err);
  CHECK_MESSAGE(r.out.find("logits: mean KL ") != r.out.npos, r.out);
  const result loose = command::run_cke({"compare", usual_dump(), dir / "b", "--tolerance", "1"});
  CHECK_SUCCESS(loose);
  const result same = command::run_cke({"compare", usual_dump(), usual_dump(), "--tolerance", "0"});
  CHECK_SUCCESS(same);
  CHECK(same.out.find("logits: mean KL 0.000e+00, same top-1 100.00%\n") != same.out.npos);
  change(file_of(dir / "b", 0, "q"), 1, 0, NAN);
  const result none = command::run_cke({"compare", usual_dump(), dir / "b", "--tolerance", "1e6"});
  CHECK_MESSAGE(none.err.find("first difference, 0.q: expected nan") != none.err.npos, none.err);
}

TEST_CASE("dump: wrong options are refused by their names, before anything is written") {
  const scratch dir;
  const auto refuse = [&](std::vector<std::string> options, const char* text) {
    CHECK_MISUSED(dump(qwen, dir / "out", std::move(options)), text);
    CHECK_FALSE(fs::exists(dir / "out"));
  };
  refuse({"--ops", "nothing*"}, "--ops: expected a pattern of names that cke dump --list prints, found nothing*");
  refuse({"--layers", "1-3"}, "--layers: expected numbers and ranges from 0 to 2, such as 0-2,5, found 1-3");
  refuse({"--layers", "x"}, "--layers: expected numbers");
  refuse({"--stop-at", "3.attend"}, "--stop-at: expected a name that cke dump --list prints");
  refuse({"--stop-at", "attend", "--chunk", "2"}, "--stop-at: expected one pass: --chunk of at least 5, found 2");
  refuse({"--stop-at", "embed", "--ops", "rope.*"},
         "--stop-at: expected a value before the end that can be read, found none");
  refuse({"--ops", "sort_by_expert"}, "--ops: expected a value before the end that can be read, found none");
  CHECK_REFUSED(dump(qwen, dir / "out", {"-c", "4"}), "context: expected at most 4 positions, found 5");
  CHECK_MISUSED(command::run_cke({"dump", qwen, "--tokens", "1"}), "-o: expected a directory that is not there yet");
  CHECK_MISUSED(command::run_cke({"dump", qwen, "-o", dir / "out"}), "--tokens: expected ids, or a text with -p");
  CHECK_REFUSED(command::run_cke({"dump", qwen, "--format", "f32", "--tokens", "288", "-o", dir / "out"}),
                "token id: expected less than 288, found 288");
  CHECK_REFUSED(dump(qwen, usual_dump()), usual_dump().string());
  CHECK(fs::is_empty(dir / ""));
}

TEST_CASE("compare, bisect: damaged dumps are refused by file") {
  const scratch dir;
  const auto broken = [&](auto damage, const char* text) {
    fs::remove_all(dir / "b");
    fs::copy(usual_dump(), dir / "b");
    damage(dir / "b");
    CHECK_MESSAGE(command::run_cke({"compare", usual_dump(), dir / "b"}).err.find(text) != std::string::npos, text,
                  command::run_cke({"compare", usual_dump(), dir / "b"}).err);
    CHECK(command::run_cke({"compare", usual_dump(), dir / "b"}).status == 1);
  };
  const auto with_index = [](const fs::path& b, auto edit) {
    json index = index_of(b);
    edit(index);
    write(b / "index.json", index.dump());
  };
  broken([](const fs::path& b) { fs::remove(b / "index.json"); }, "b/index.json");
  broken([](const fs::path& b) { write(b / "index.json", "[]"); }, "b/index.json: expected what cke dump writes");
  broken([](const fs::path& b) { write(b / "index.json", content(b / "index.json").substr(0, 500)); },
         "b/index.json: expected what cke dump writes");
  broken([&](const fs::path& b) { with_index(b, [](json& i) { i["cke_dump"] = 9; }); },
         "b/index.json: cke_dump: expected 1, found 9");
  broken([&](const fs::path& b) { with_index(b, [](json& i) { i["tokens"][0] = 6; }); },
         "b/index.json: tokens: expected ");
  broken([&](const fs::path& b) { with_index(b, [](json& i) { i["values"][0].erase("shape"); }); },
         "b/index.json: expected tokens, and values with shapes");
  broken([&](const fs::path& b) { with_index(b, [](json& i) { i["values"][0]["shape"] = {5, 47}; }); },
         "b/index.json: value embed: expected [5, 48], found [5, 47]");
  broken([&](const fs::path& b) { with_index(b, [](json& i) { i["values"][0]["file"] = "../x.npy"; }); },
         "b/index.json: value embed: expected a file of this directory");
  broken([&](const fs::path& b) { with_index(b, [](json& i) { i["values"][1] = i["values"][0]; }); },
         "value embed: expected each value once");
  broken([&](const fs::path& b) { with_index(b, [](json& i) { i["values"] = json::array(); }); },
         "b: values: expected one that ");
  broken([](const fs::path& b) { fs::resize_file(file_of(b, 0, "q"), 400); }, "0.q.npy: array: expected ");
  broken([](const fs::path& b) { fs::remove(file_of(b, 1, "o")); }, "1.o.npy");
  broken(
      [](const fs::path& b) {
        fs::copy_file(file_of(b, 0, "q"), file_of(b, 0, "norm"), fs::copy_options::overwrite_existing);
      },
      "0.norm.npy: shape: expected [5, 48]");

  const result made = dump(qwen, dir / "c", {"--ckdmp", "--layers", "1"});
  CHECK_SUCCESS(made);
  const std::string whole = content(dir / "c/steps.ckdmp");
  const auto refused = [&](const std::string& bytes, const char* text) {
    write(dir / "c/steps.ckdmp", bytes);
    const result r = command::run_cke({"compare", dir / "c", usual_dump()});
    CHECK_MESSAGE((r.status == 1 && r.err.find(text) != r.err.npos), show(r));
  };
  refused(whole.substr(0, whole.size() - 1), " bytes of numbers, found ");
  refused(whole.substr(0, 100), "c/steps.ckdmp: record at byte 0: expected 128 bytes, found 100");
  refused("X" + whole.substr(1), "c/steps.ckdmp: record at byte 0: expected CKDMP, version 1, rows of float32");
  refused(whole.substr(128 + 5 * 48 * 4),
          "c/steps.ckdmp: records of 1.norm: expected [5, 48], as index.json says, found 0 numbers");
  std::string other = whole;
  other[40] = 1;  // bytes 48 to 51 are the type, 52 to 55 the rank
  other[52] = 3;
  refused(other, "record at byte 0: expected CKDMP");
  CHECK_REFUSED(command::run_cke({"bisect", qwen, "--reference", dir / "nothing"}), "nothing/index.json");
  CHECK(
      command::run_cke({"bisect", granite, "--format", "f32", "--reference", usual_dump()}).err.find("value 0.norm") ==
      std::string::npos);
}

TEST_CASE("bisect: a fault in one lane of one kernel is found by its step and its layer") {
  const scratch dir;
  // Attention of granitemoehybrid is in layer 1 alone. Its kernel is replaced by one that is wrong in column 3.
  // The right one is in the command's compiled part, so the compiler refuses units that take it from there.
  write(dir / "fault.hpp", R"(
#include <cke/kernels/attention/attention_steps.hpp>
namespace cke::kernels {
struct as_it_is : isa::native {};
}
namespace cke::isa {
template <> struct xsimd_arch<kernels::as_it_is> : xsimd_arch<native> {};
}
namespace cke::simd {
template <> struct primitives<kernels::as_it_is> : primitives<isa::native> {};
}
namespace cke::kernels {
template <> struct kernel<opcode::attend, dtype::f32, isa::native> : kernel<opcode::attend, dtype::f32, as_it_is> {
  static void run(const attention_params& p, const work& w, u32 unit) {
    kernel<opcode::attend, dtype::f32, as_it_is>::run(p, w, unit);
    if (unit == 0) w.out[0].row(0)[3] += 0.01f;
  }
};
}
)");
  write(dir / "compiler",
        "#!/bin/sh\ncase \"$*\" in *-DCKE_COMPILED*) exit 1;; *unit.cpp*) exec " CKE_CXX " -include " +
            (dir / "fault.hpp").string() + " \"$@\";; *) exec " CKE_CXX " \"$@\";; esac\n");
  fs::permissions(dir / "compiler", fs::perms::owner_all);
  fs::create_directory(dir / "cache");
  fs::permissions(dir / "cache", fs::perms::owner_all);
  const result r =
      command::run_cke({"bisect", granite, "--format", "f32", "--reference", references + "granitemoehybrid"},
                       {.variables = {{"CKE_CXX", dir / "compiler"}, {"CKE_CACHE", dir / "cache"}}});
  CHECK(r.status == 1);
  CHECK_MESSAGE(r.out.find("first wrong: 1.attend (attend); last right: 1.v") != r.out.npos, show(r));
  CHECK_MESSAGE(r.err.find("column 3; 1 number is wrong, in 1 row and 1 column") != r.err.npos, r.err);
}
