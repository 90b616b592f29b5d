// SPDX-License-Identifier: MIT
// hints.cpp: knobs by name, four sources merged field by field, profiles that are wrong, and cke inspect --explain.
#include <cke/hints.hpp>

#include <nlohmann/json.hpp>
#include <set>

#include "command.hpp"

namespace hints_test {

using namespace command;
using namespace cke;
using nlohmann::json;

namespace {

// A value of each knob that is not the default, one for each source.
u32 value_of(const knob& k, hint_source from) {
  const u32 s = static_cast<u32>(from), usual = *k.read(default_hints);
  return k.most == 1 ? 1 - usual : k.name == "chunk" ? 7 + s : 2 + s;
}
hints one(const knob& k, hint_source from) {
  hints h;
  k.write(h, value_of(k, from));
  return h;
}

constexpr hint_source sources[]{hint_source::runtime, hint_source::profile, hint_source::manifest};

const std::string head = "version: 1\nkernelHints:\n";

struct profiles {
  scratch dir;
  fs::path file = dir / "p.yaml";

  result explain(const std::string& text, std::vector<std::string> more = {}) const {
    write(file, text);
    std::vector<std::string> words{"inspect", tiny, "--explain", "--json", "--hints", file.string()};
    words.insert(words.end(), more.begin(), more.end());
    return command::run_cke(words);
  }
  static json hint(const result& r, std::string_view name) {
    CHECK_SUCCESS(r);
    const json all = json::parse(r.out);
    for (const json& h : all["hints"])
      if (h["knob"] == name) return h;
    return {};
  }
};

}  // namespace

TEST_CASE("hints: every field is a knob, and what text() says value() takes") {
  const auto& [a, b, c, d, e, f, g, h, layers] = default_hints;  // does not compile with another number of fields
  CHECK((a && b && c && d && e && f && g && h && layers.size() == 0));
  static_assert(knobs.size() == 8);
  std::set<std::string_view> names;
  hints all;
  for (const knob& k : knobs) {
    CAPTURE(k.name);
    names.insert(k.name);
    for (const u32 v : {k.least, k.most, *k.read(default_hints)}) {
      CHECK(k.value(k.text(v)) == v);
      k.write(all, v);
      CHECK(k.read(all) == v);
    }
    CHECK(k.value("auto") == k.read(default_hints));
    for (const std::string& wrong : {std::string(), concat({u64{k.most} + 1}), std::string("-1"), std::string("1.5"),
                                     std::string("1 "), std::string("x"), std::string("4294967296")})
      CHECK_FALSE(k.value(wrong));
    if (k.least == 1) CHECK_FALSE(k.value("0"));
  }
  CHECK(names.size() == knobs.size());
  CHECK(knob_named("hugePages")->value("true") == 1);
  CHECK(knob_named("attentionDecode")->value("tiled_small") == 0);
  CHECK(knob_named("decodeThreads")->value("all") == 0);
  CHECK_FALSE(knob_named("huge_pages"));
}

TEST_CASE("hints: the first source that says something wins, field by field") {
  for (const knob& k : knobs)
    for (u32 who = 0; who < 8; ++who) {  // the default is always there
      hint_stack stack;
      hint_source wins = hint_source::measured;
      for (u32 s = 3; s-- > 0;)
        if (who >> s & 1) stack.set(sources[s], one(k, sources[s])), wins = sources[s];
      const u32 want = wins == hint_source::measured ? *k.read(default_hints) : value_of(k, wins);
      CAPTURE(k.name);
      CAPTURE(who);
      CHECK(k.read(stack.get()) == want);
      for (const auto& [of, value, from] : stack.explain()) {
        CHECK(value == k.read(stack.get()).value_or(0) * (of == &k) + *of->read(default_hints) * (of != &k));
        CHECK(from == (of == &k ? wins : hint_source::measured));
      }
      for (const knob& other : knobs)
        if (&other != &k) CHECK(other.read(stack.get()) == other.read(default_hints));
    }
  hint_stack stack;
  stack.set(hint_source::runtime, {.prefill_threads = 3});
  stack.set(hint_source::profile, {.prefill_threads = 4, .decode_threads = 5, .huge_pages = false});
  stack.set(hint_source::manifest, {.prefill_threads = 6, .decode_threads = 7, .chunk = 8, .huge_pages = true});
  hints want = default_hints;
  want.prefill_threads = 3, want.decode_threads = 5, want.chunk = 8, want.huge_pages = false;
  CHECK(stack.get() == want);
  stack.set(hint_source::profile, {});
  want.decode_threads = 7, want.huge_pages = true;
  CHECK(stack.get() == want);
}

TEST_CASE("hints: those of layers go before those of all, source by source") {
  const auto claim = [](u32 first, u32 last, u32 units) { return layer_hints{first, last, units, {}}; };
  hint_stack stack;
  hints runtime, profile, manifest;
  runtime.attention_decode = attention_sharing::tiled;
  runtime.layers.push(claim(2, 3, 5));
  profile.units_per_claim = 4;
  profile.layers.push(claim(3, 6, 6));
  profile.layers.push({7, 8, {}, attention_sharing::streaming});
  manifest.layers.push(claim(0, 9, 7));
  stack.set(hint_source::runtime, runtime), stack.set(hint_source::profile, profile);
  stack.set(hint_source::manifest, manifest);
  const hints all = stack.get();
  constexpr u32 want[]{4, 4, 5, 5, 6, 6, 6, 4, 4, 4, 4};
  for (u32 layer = 0; layer < std::size(want); ++layer) {
    CAPTURE(layer);
    CHECK(all.at(layer).units_per_claim == want[layer]);
    CHECK(all.at(layer).attention_decode == attention_sharing::tiled);  // at run time, of all layers
  }
  std::string said;
  stack.explain_layers([&](const hint_stack::choice& c, const layer_hints& l) {
    said += concat({c.of->name, "@", range_text(l), "=", c.of->text(c.value), " ", name(c.from), "; "});
  });
  CHECK(said == "unitsPerClaim@2-3=5 run time; unitsPerClaim@3-6=6 profile; ");
  hints many;
  for (u32 l = 0; l <= hints::most_layer_hints; ++l) many.layers.push(claim(l, l, 1));
  CHECK_THROWS_AS(stack.set(hint_source::runtime, many), Error);
}

TEST_CASE("hints: cke inspect --explain prints each knob, its value and its source") {
  const profiles p;
  const result r = p.explain(
      "name: mine\nmodel: tiny\nversion: 1\nkernelHints:\n  chunk: 64\n  decodeThreads: 1\n  hugePages: false\n"
      "  tunedDevice: some cpu\n  benchmarkTokPerSec: 11.5\n",
      {"--hint", "chunk=32", "--hint", "attentionDecode=streaming"});
  const auto is = [&](const char* name, const char* value, const std::string& source) {
    const json h = p.hint(r, name);
    CHECK(h["value"] == value);
    CHECK(h["source"] == source);
  };
  is("chunk", "32", "run time");
  is("attentionDecode", "streaming", "run time");
  is("decodeThreads", "1", "profile " + p.file.string());
  is("hugePages", "off", "profile " + p.file.string());
  is("prefillThreads", "all", "default");
  const result text = command::run_cke({"inspect", tiny, "--explain", "--hints", p.file.string(), "--chunk", "9"});
  CHECK_SUCCESS(text);
  for (const char* row :
       {"\n  chunk             9           run time\n", "\n  spins             2000        default\n"})
    CHECK_MESSAGE(text.out.find(row) != text.out.npos, text.out);
  CHECK(json::parse(command::run_cke({"inspect", tiny, "--plan", "--json", "--hints", p.file.string()})
                        .out)["plan"]["capacity"]["chunk"] == 64);
}

TEST_CASE("hints: of layers, from a profile, a bundle and the command line, the answer the same") {
  const scratch dir;
  write(dir / "p.yaml",
        head +
            "  chunk: 48\nlayers:\n  \"0-1\": {attentionDecode: streaming, unitsPerClaim: 3}\n"
            "  4: {unitsPerClaim: 9}\n");
  const std::string bundle = (dir / "tiny.cke").string();
  const result packed = command::run_cke({"pack", tiny, "-o", bundle, "--hints", (dir / "p.yaml").string()});
  CHECK_SUCCESS(packed);
  const result text = command::run_cke({"inspect", bundle, "--explain", "--hint", "unitsPerClaim@4=2"});
  CHECK_SUCCESS(text);
  for (const char* row :
       {"\n  unitsPerClaim@4   2           run time\n", "\n  unitsPerClaim@0-1  3          manifest\n",
        "\n  attentionDecode@0-1  streaming  manifest\n", "\n  unitsPerClaim@4   9           manifest\n"})
    CHECK_MESSAGE(text.out.find(row) != text.out.npos, text.out);
  const result with = command::run_cke({"run", bundle, "-p", "Once", "-n", "8", "--temp", "0", "--ids", "-t", "2"}),
               without = command::run_cke({"run", tiny, "-p", "Once", "-n", "8", "--temp", "0", "--ids"});
  CHECK_SUCCESS(with);
  CHECK(with.out == without.out);
  CHECK_REFUSED(command::run_cke({"run", tiny, "-p", "Once", "--hint", "unitsPerClaim@3-5=2"}),
                "hints.layers 3-5: expected 3 to 4, found 5");
}

TEST_CASE("hints: a profile that is wrong is refused by line and key") {
  const profiles p;
  const auto refused = [&](const std::string& text, const std::string& what) {
    CHECK_REFUSED(p.explain(text), p.file.string() + ": " + what);
  };
  // Of each knob: a wrong value.
  for (const knob& k : knobs) {
    for (const std::string_view wrong : {"x", "-1", "1.5", "\"\"", "4294967296", "[1]", "{a: 1}", "~"}) {
      const std::string key = concat({"line 3, kernelHints.", k.name, ": expected "});
      refused(concat({head, "  ", k.name, ": ", wrong, "\n"}), key);
    }
    refused(concat({head, "  ", k.name, ": ", u64{k.most} + 1, "\n"}),
            concat({"line 3, kernelHints.", k.name, ": expected ", k.range()}));
  }
  refused(head + "  chunk: 0\n", "line 3, kernelHints.chunk: expected 1 to 65536, found \"0\"");
  refused(head + "  hugePages: maybe\n", "line 3, kernelHints.hugePages: expected off or on, found \"maybe\"");
  refused(head + "  chunk: 1\n  chunk: 2\n", "line 4, kernelHints: expected each key once, found chunk again");
  refused(head + "  chunks: 1\n", "line 3, kernelHints: expected one of prefillThreads, ");
  refused(head + "  computePrecision: f16\n",
          "line 3, kernelHints.computePrecision: expected a knob that changes no answer: the number format of the "
          "weights decides this (--format), found computePrecision");
  refused(head + "  benchmarkTokPerSec: fast\n", "line 3, kernelHints.benchmarkTokPerSec: expected tokens per second");
  refused(head + "  tunedDevice: [a]\n", "line 3, kernelHints.tunedDevice: expected a text, found a list");
  // Of the others.
  const std::string layers = "version: 1\nkernelHints: {}\nlayers:\n";
  refused(layers + "  x: {unitsPerClaim: 2}\n", "line 4, layers.x: expected layers such as 0-5 or 7, found \"x\"");
  refused(layers + "  5-4: {unitsPerClaim: 2}\n", "line 4, layers.5-4: expected layers such as 0-5 or 7");
  refused(layers + "  0-4294967296: {unitsPerClaim: 2}\n", "line 4, layers.0-4294967296: expected layers such as");
  refused(layers + "  0-5: {unitsPerClaim: 2}\n  5: {spins: 2}\n",
          "line 5, layers.5: expected layers outside of 0-5, found \"5\"");
  refused(layers + "  0-5: {spins: 2}\n", "line 4, layers.0-5: expected one of unitsPerClaim, attentionDecode");
  refused(layers + "  0-5: {unitsPerClaim: 0}\n", "line 4, layers.0-5.unitsPerClaim: expected 1 to 256, found \"0\"");
  refused(layers + "  0-5: 7\n", "line 4, layers.0-5: expected a map of unitsPerClaim, attentionDecode");
  refused("version: 2\nkernelHints: {}\n", "line 1, version: expected 1, the version of profiles, found \"2\"");
  refused("kernelHints: {}\n", "version: expected this key, found none");
  refused("version: 1\n", "kernelHints: expected this key, found none");
  refused("version: 1\nkernelHints: 7\n", "line 2, kernelHints: expected a map of ");
  refused("version: 1\nkernelHints: {}\nlayer: 1\n", "line 3: expected one of name, model, version, ");
  refused("version: 1\nname: [a]\nkernelHints: {}\n", "line 2, name: expected a text, found a list");
  refused("version: 1\nkernelHints: {}\nname: " + std::string(2000, 'x') + "\n",
          "line 3, name: expected at most 1024 ");
  refused("version: 1\nkernelHints: {}\n? [a]\n: b\n", "line 3: expected a key: ");
  refused("version: 1\ndevice: {threads: 0}\nkernelHints: {}\n", "line 2, device.threads: expected a number from 1 to");
  refused("version: 1\ndevice: {vendor: apple}\nkernelHints: {}\n", "line 2, device: expected one of cpu, threads");
  refused("", "line 1: expected a map of ");
  refused("- a\n", "line 1: expected a map of ");
  refused("version: 1\nkernelHints: {\n", "line ");
  refused("version: 1\n\tkernelHints: {}\n", "line 2: expected YAML");
  refused(std::string(1 << 17, '#'), "profile: expected at most 65536 bytes, found more");
  refused(std::string(60000, '['), "line 1: expected YAML");
  // What is for something else.
  refused("version: 1\nprogram: abc\nkernelHints: {}\n", "program: expected ");
  refused("version: 1\ndevice: {cpu: another}\nkernelHints: {}\n", "device.cpu: expected ");
  refused("version: 1\ndevice: {threads: 1023}\nkernelHints: {}\n", "device.threads: expected ");
  CHECK_REFUSED(command::run_cke({"inspect", tiny, "--explain", "--hints", (p.dir / "none.yaml").string()}),
                "none.yaml: expected a profile that can be read, found No such file");
}

TEST_CASE("hints: a wrong --hint is wrong usage") {
  const auto refused = [](const char* hint, const char* what) {
    const result r = command::run_cke({"inspect", tiny, "--hint", hint});
    CHECK_MESSAGE(is_refusal(r, 2), show(r));
    CHECK_MESSAGE(r.err.find(what) != r.err.npos, r.err);
  };
  refused("chunk", "expected KNOB=VALUE, with one of prefillThreads, ");
  refused("chunks=1", "expected KNOB=VALUE, with one of prefillThreads, ");
  refused("chunk=0", "expected chunk=1 to 65536, found \"chunk=0\"");
  refused("spins@0-2=7", "expected KNOB@LAYERS=VALUE, with one of unitsPerClaim, attentionDecode, found");
  refused("unitsPerClaim@2-0=7", "expected KNOB@LAYERS=VALUE, with layers such as 0-5 or 7, found");
  refused("unitsPerClaim@0-2=0", "expected unitsPerClaim=1 to 256, found");
  refused("spins=", "expected spins=1 to 1000000, found \"spins=\"");
}

TEST_CASE("hints: a bundle carries those of a profile, which others go before") {
  const scratch dir;
  write(dir / "p.yaml", head + "  chunk: 48\n  hugePages: off\n");
  const std::string bundle = (dir / "tiny.cke").string();
  const result packed = command::run_cke({"pack", tiny, "-o", bundle, "--hints", (dir / "p.yaml").string()});
  CHECK_SUCCESS(packed);
  const auto hint = [&](const char* name, std::vector<std::string> more) {
    more.insert(more.begin(), {"inspect", bundle, "--explain", "--json"});
    return profiles::hint(command::run_cke(more), name);
  };
  CHECK(hint("chunk", {})["value"] == "48");
  CHECK(hint("chunk", {})["source"] == "manifest");
  CHECK(hint("hugePages", {})["value"] == "off");
  write(dir / "q.yaml", head + "  chunk: 49\n");
  const std::vector<std::string> with{"--hints", (dir / "q.yaml").string()};
  CHECK(hint("chunk", with)["value"] == "49");
  CHECK(hint("hugePages", with)["source"] == "manifest");
  CHECK(hint("chunk", {"--chunk", "50"})["value"] == "50");
  const result one = command::run_cke({"run", bundle, "-p", "Once", "-n", "8", "--temp", "0", "--ids"}),
               two = command::run_cke({"run", tiny, "-p", "Once", "-n", "8", "--temp", "0", "--ids"});
  CHECK_SUCCESS(one);
  CHECK(one.out == two.out);
}

}  // namespace hints_test
