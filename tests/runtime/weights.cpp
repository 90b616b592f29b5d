// SPDX-License-Identifier: MIT
// weights.cpp: which tensors a model takes, and what the message says of those that it does not.
#include "cke/runtime/weights.hpp"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

#include "expert_model.hpp"
#include "mixed_model.hpp"
#include "recurrent_model.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using random_model::failure_of;
using random_model::tensors;

namespace {

using tied = program<random_model::tiny, BF16>;
using untied = program<random_model::mixed, Q8_0>;

template <class P> weights load(const tensors& t, const progress_callback& progress = {}, u32 threads = 2) {
  team workers(threads);
  return weights(packed_layout_of<P, isa::native>, t.index(), "random", naming::hf, names_of<typename P::model_list>(),
                 workers, progress);
}
template <class P> random_model::failure refused(const tensors& t) {
  return failure_of([&] { load<P>(t); });
}
const std::vector<float> ones(1 << 17, 1.f);
void replace(tensors& t, const std::string& name, tensor_shape shape) {
  u64 n = 1;
  for (const u64 d : shape) n *= d;
  std::erase_if(t.list, [&](const tensor_ref& r) { return r.name == name; });
  t.add(name, shape, std::span(ones).first(n));
}
// All that a model reads of its weights, in order.
template <class P> std::vector<std::byte> bytes_of_all(const weights& w) {
  std::vector<std::byte> out;
  for (u32 r = 0; r < w.rows(); ++r) {
    const code& plain = r == 0 ? P::unfused_header()
        : r == P::layers + 1   ? P::unfused_footer()
                               : P::unfused[P::kind_of[r - 1]];
    for (u32 i = 0; i < plain.slots.size(); ++i)
      if (!plain.slots[i].quantisable)
        out.insert(out.end(), w.row(r)[i], w.row(r)[i] + plain.slots[i].elements() * sizeof(float));
      else out.insert(out.end(), w.row(r)[i], w.row(r)[i] + plain.slots[i].cols);  // the beginning of a unit
  }
  return out;
}

}  // namespace

TEST_CASE("weights: every tensor has to be there, and the first that is not is named") {
  const tensors all = tensors::of<tied>();
  for (std::size_t i = 0; i < all.list.size(); ++i) {
    tensors t = tensors::of<tied>();
    const std::string name = t.list[i].name;
    t.list.erase(t.list.begin() + static_cast<std::ptrdiff_t>(i));
    const auto failed = refused<tied>(t);
    CHECK(failed.code == errc::tensor_missing);
    CHECK(failed.text == "random: tensor " + name + ": expected this tensor, found none of this name");
  }
  CHECK(refused<tied>(all).text.empty());
}

TEST_CASE("weights: a shape has to be the model's") {
  struct row {
    const char* name;
    tensor_shape shape;
    const char* message;
  };
  const row rows[]{
      {"model.embed_tokens.weight", {258, 96}, "expected shape [259, 96], found [258, 96]"},
      {"model.layers.0.self_attn.q_proj.weight", {96, 144}, "expected shape [144, 96], found [96, 144]"},  // transposed
      {"model.layers.1.self_attn.k_proj.weight", {48 * 96}, "expected shape [48, 96], found [4608]"},
      {"model.layers.1.mlp.down_proj.weight", {1, 96, 160}, "expected shape [96, 160], found [1, 96, 160]"},
      {"model.layers.0.self_attn.q_norm.weight", {1, 24}, "expected shape [24], found [1, 24]"},
      {"model.layers.0.self_attn.v_proj.bias", {47}, "expected shape [48], found [47]"},
      {"model.norm.weight", {}, "expected shape [96], found []"},
  };
  for (const row& r : rows) {
    tensors t = tensors::of<tied>();
    replace(t, r.name, r.shape);
    const auto failed = refused<tied>(t);
    CHECK(failed.code == errc::tensor_shape);
    CHECK(failed.text == std::string("random: tensor ") + r.name + ": " + r.message);
  }
}

TEST_CASE("weights: a type has to be one to compute with; vectors are never in blocks") {
  tensors t = tensors::of<tied>();
  tensor_ref& gate = t.at("model.layers.1.mlp.gate_proj.weight");
  gate.type = dtype::none, gate.stored = "Q4_K";
  const auto failed = refused<tied>(t);
  CHECK(failed.code == errc::tensor_dtype);
  CHECK(failed.text ==
        "random: tensor model.layers.1.mlp.gate_proj.weight: expected f32, f16, bf16 or q8_0, found Q4_K");

  using blocks = program<random_model::wide, Q6_K>;  // nothing is rounded to these, nor they to each other
  for (const dtype type : {dtype::f32, dtype::q4_k, dtype::q8_0}) {
    tensors k = tensors::of<blocks>();
    CHECK(refused<blocks>(k).text.empty());
    tensor_ref& down = k.at("model.layers.1.mlp.down_proj.weight");
    down.type = type, down.stored = info(type).name;
    CHECK(refused<blocks>(k).text ==
          "random: tensor model.layers.1.mlp.down_proj.weight: expected q6_k, found " + down.stored);
  }

  t = tensors::of<tied>();
  tensor_ref& norm = t.at("model.norm.weight");
  norm.type = dtype::q8_0, norm.stored = "q8_0", norm.bytes = norm.bytes.first(3 * 34);
  CHECK(refused<tied>(t).text == "random: tensor model.norm.weight: expected f32, f16 or bf16, found q8_0");
}

TEST_CASE("weights: a tensor that the model has not is a wrong model, but for what converters leave") {
  tensors t = tensors::of<tied>();
  t.add("model.layers.2.mlp.up_proj.weight", {160, 96}, std::span(ones).first(160 * 96));
  const auto failed = refused<tied>(t);
  CHECK(failed.code == errc::tensor_unknown);
  CHECK(failed.text ==
        "random: tensor model.layers.2.mlp.up_proj.weight: expected only tensors of the model, found this one");

  t = tensors::of<tied>();
  t.add("lm_head.weight", {259, 96}, std::span(ones).first(259 * 96));  // the embedding again
  t.add("model.layers.0.self_attn.rotary_emb.inv_freq", {12}, std::span(ones).first(12));
  CHECK(refused<tied>(t).text.empty());

  t = tensors::of<tied>();
  t.add("lm_head.bias", {259}, std::span(ones).first(259));
  CHECK(refused<tied>(t).code == errc::tensor_unknown);
}

namespace {

template <class Formats> using mixture = program<random_model::with_experts, Formats>;
// All bytes of a model's experts, in formats whose units have one size.
template <class P> std::vector<std::byte> bytes_of_experts(const weights& w) {
  std::vector<std::byte> out;
  for (u32 l = 0; l < P::layers; ++l) {
    const code& plain = P::unfused[P::kind_of[l]];
    const signature& s = P::variants.list[P::variants.of[l]].formats;
    for (u32 i = 0; i < plain.slots.size(); ++i)
      if (of_experts(plain.slots[i].is)) {
        const auto add = [&]<dtype T>() {
          out.insert(out.end(), w.row(l + 1)[i],
                     w.row(l + 1)[i] +
                         kernels::packed<T, isa::native>::bytes(units_of_slot(plain.slots[i]), plain.slots[i].cols));
        };
        s[i] == dtype::q8_0 ? add.template operator()<dtype::q8_0>() : add.template operator()<dtype::f32>();
      }
  }
  return out;
}
const std::string mlp = "model.layers.0.mlp.";
constexpr u32 counts[]{7, 12, 5};  // of experts in each layer

// The experts of HF's tensors (gate, up or down), one behind the other; two roles side by side in each expert.
void put_together(tensors& t, const std::string& layer, std::initializer_list<std::string> roles, u32 experts,
                  std::string name) {
  std::vector<float> all;
  u64 rows = 0, cols = 0;
  for (u32 e = 0; e < experts; ++e)
    for (const std::string& role : roles) {
      const tensor_ref& one = t.at(layer + "experts." + std::to_string(e) + "." + role + ".weight");
      rows += e == 0 ? one.shape[0] : 0, cols = one.shape[1];
      for (std::size_t i = 0; i < one.bytes.size() / 4; ++i) all.push_back(tensors::number(one, i));
    }
  std::erase_if(t.list, [&](const tensor_ref& r) {
    return std::ranges::any_of(roles, [&](const std::string& role) {
      return r.name.starts_with(layer + "experts.") && r.name.ends_with("." + role + ".weight");
    });
  });
  t.add(std::move(name), {experts, rows, cols}, all);
}

}  // namespace

TEST_CASE_TEMPLATE("weights: moe_options apart, experts in one tensor, gate and up in one: the same bytes", formats,
                   F32, Q8_0) {
  using P = mixture<formats>;
  tensors t = tensors::of<P>();
  const auto want = bytes_of_experts<P>(load<P>(t));
  CHECK(want.size() > 100000);
  for (u32 l = 0; l < P::layers; ++l) {
    const std::string layer = "model.layers." + std::to_string(l) + ".mlp.";
    const u32 experts = counts[l];
    put_together(t, layer, {"gate_proj", "up_proj"}, experts, layer + "experts.gate_up_proj");
    put_together(t, layer, {"down_proj"}, experts, layer + "experts.down_proj");
    if (l == 0) CHECK(bytes_of_experts<P>(load<P>(t)) == want);  // some layers so, some so
  }
  CHECK(bytes_of_experts<P>(load<P>(t, {}, 3)) == want);
}

namespace weights_test {

// Tensors whose memory is overwritten as soon as they are said to be copied.
struct lent final : tensor_source {
  explicit lent(const tensors& of) : all(of.index()), told(all.count()) {}
  u64 count() const override { return all.count(); }
  u64 number_of(std::string_view name) const override { return all.number_of(name); }
  source_tensor tensor(u64 number) const override { return all.tensor(number); }
  void drop(u64, std::span<const std::byte>) const override {}
  void copied(u64 number) const override {
    const std::span<const std::byte> bytes = all.tensor(number).bytes;
    std::memset(const_cast<std::byte*>(bytes.data()), 0xff, bytes.size());
    ++told[number];
  }

  tensor_index all;
  mutable std::vector<u32> told;  // how often, of each
};

}  // namespace weights_test

TEST_CASE("weights: a tensor is said to be copied once, after the last of the weights in it has been packed") {
  using P = mixture<Q8_0>;
  tensors t = tensors::of<P>();
  const auto want = bytes_of_experts<P>(load<P>(t));
  for (u32 l = 0; l < P::layers; ++l) {
    const std::string layer = "model.layers." + std::to_string(l) + ".mlp.";
    put_together(t, layer, {"gate_proj", "up_proj"}, counts[l], layer + "experts.gate_up_proj");
  }
  const weights_test::lent from(t);
  team workers(2);
  const weights w(packed_layout_of<P, isa::native>, from, "random", naming::hf, names_of<random_model::with_experts>(),
                  workers, {});
  CHECK(bytes_of_experts<P>(w) == want);
  CHECK(from.told == std::vector<u32>(t.list.size(), 1));
}

TEST_CASE("weights: experts of a GGUF file") {
  using P = mixture<Q8_0>;
  tensors t = tensors::of<P>();
  const auto want = bytes_of_experts<P>(load<P>(t));
  for (u32 l = 0; l < P::layers; ++l)
    for (const std::string role : {"gate", "up", "down"})
      put_together(t, "model.layers." + std::to_string(l) + ".mlp.", {role + "_proj"}, counts[l],
                   "blk." + std::to_string(l) + ".ffn_" + role + "_exps.weight");
  P::for_each_weight([&](const weight& w) {
    const name_rule& rule = name_of(names_of<random_model::with_experts>(), w.where, w.slot);
    if (of_experts(w.slot.is)) return;
    tensor_ref& one = t.at(tensor_name(rule.hf[0], w.slot.bias, w.layer, 0));
    one.name = tensor_name(rule.gguf[0], w.slot.bias, w.layer, 0);
    if (w.slot.is == role::shared_gate) one.shape = {w.slot.cols};  // llama.cpp's converter drops the one row
  });
  team workers(2);
  CHECK(bytes_of_experts<P>(weights(packed_layout_of<P, isa::native>, t.index(), "random", naming::gguf,
                                    names_of<random_model::with_experts>(), workers, {})) == want);
}

TEST_CASE("weights: an expert in 8-bit floats among others") {
  using P = mixture<Q8_0>;
  const std::string name = mlp + "experts.3.gate_proj.weight";
  tensors t = tensors::of<P>();
  const std::vector<float> twos(64 * 96, 2.f);
  std::erase_if(t.list, [&](const tensor_ref& r) { return r.name == name; });
  t.add(name, {64, 96}, twos);
  const auto want = bytes_of_experts<P>(load<P>(t));
  const std::vector<std::byte> codes(64 * 96, std::byte{0x40});  // 2, where a scale is 1
  tensor_ref& one = t.at(name);
  one.type = dtype::f8_e4m3, one.bytes = codes;
  CHECK(refused<P>(t).text == "random: tensor " + name + "_scale_inv: expected this tensor, found none of this name");
  t.add(name + "_scale_inv", {1, 1}, std::span(ones).first(1));
  CHECK(bytes_of_experts<P>(load<P>(t)) == want);
  t.add("model.norm.weight_scale_inv", {1, 1}, std::span(ones).first(1));
  CHECK(refused<P>(t).code == errc::tensor_unknown);
}

TEST_CASE("weights: every expert has to be there, of its shape, of a type; and none beyond them") {
  using P = mixture<Q8_0>;
  const auto without = [](const std::string& name) {
    tensors t = tensors::of<P>();
    std::erase_if(t.list, [&](const tensor_ref& r) { return r.name == name; });
    return refused<P>(t).text;
  };
  CHECK(without(mlp + "experts.5.up_proj.weight") ==
        "random: tensor " + mlp + "experts.5.up_proj.weight: expected this tensor, found none of this name");
  CHECK(without(mlp + "experts.0.up_proj.weight") ==
        "random: tensor " + mlp + "experts.0.up_proj.weight: expected this tensor, found none of this name");
  CHECK(without(mlp + "gate.weight") ==
        "random: tensor " + mlp + "gate.weight: expected this tensor, found none of this name");
  CHECK(without("model.layers.1.mlp.gate.e_score_correction_bias")
            .ends_with("e_score_correction_bias: expected this tensor, found none of this name"));
  tensors t = tensors::of<P>();
  replace(t, mlp + "experts.6.down_proj.weight", {64, 96});
  CHECK(refused<P>(t).text ==
        "random: tensor " + mlp + "experts.6.down_proj.weight: expected shape [96, 64], found [64, 96]");
  t = tensors::of<P>();
  tensor_ref& one = t.at(mlp + "experts.3.gate_proj.weight");
  one.type = dtype::none, one.stored = "F8_E4M3";
  CHECK(refused<P>(t).text ==
        "random: tensor " + mlp + "experts.3.gate_proj.weight: expected f32, f16, bf16 or q8_0, found F8_E4M3");
  t = tensors::of<P>();
  t.add(mlp + "experts.7.gate_proj.weight", {64, 96}, std::span(ones).first(64 * 96));
  CHECK(refused<P>(t).code == errc::tensor_unknown);
  t = tensors::of<P>();
  put_together(t, mlp, {"gate_proj", "up_proj"}, 7, mlp + "experts.gate_up_proj");
  replace(t, mlp + "experts.gate_up_proj", {7, 64, 96});
  CHECK(refused<P>(t).text ==
        "random: tensor " + mlp + "experts.gate_up_proj: expected shape [7, 128, 96], found [7, 64, 96]");
}

namespace {
struct looks_ahead : random_model::mixed {
  struct family {
    static constexpr bool predicts_ahead = true;
  };
  static constexpr auto names = common_names;
};
}  // namespace

TEST_CASE("weights: layers after the last are left out where a family's files have them, and nowhere else") {
  using P = program<looks_ahead, Q8_0>;
  static_assert(P::layers == 3);
  const auto with = [](const std::string& name) {
    tensors t = tensors::of<P>();
    t.add(name, {4}, std::span(ones).first(4));
    return refused<P>(t).code == errc::tensor_unknown;
  };
  CHECK(!with("model.layers.3.eh_proj.weight"));
  CHECK(!with("model.layers.3.mlp.up_proj.weight"));
  CHECK(!with("model.layers.20.enorm.weight"));
  CHECK(with("model.layers.2.eh_proj.weight"));
  CHECK(with("model.layers.eh_proj.weight"));
  CHECK(with("model.norm2.weight"));
  CHECK(with("blk.3.nextn.enorm.weight"));
  tensors t = tensors::of<untied>();
  t.add("model.layers.3.eh_proj.weight", {4}, std::span(ones).first(4));
  CHECK(refused<untied>(t).code == errc::tensor_unknown);
}

TEST_CASE("weights: a tied head is the embedding, and one that is not needs its own") {
  const tensors t = tensors::of<tied>();
  const auto w = load<tied>(t);
  const code& footer = tied::unfused_footer();
  u32 head = 0;
  while (!footer.slots[head].tied) ++head;
  CHECK(w.row(tied::layers + 1)[head] == w.row(0)[0]);
  CHECK(w.row(tied::layers + 1)[0] != nullptr);  // the norm before it

  tensors other = tensors::of<untied>();
  const auto own = load<untied>(other);
  for (u32 i = 0; i < untied::unfused_footer().slots.size(); ++i)
    CHECK(own.row(untied::layers + 1)[i] != own.row(0)[0]);
  std::erase_if(other.list, [](const tensor_ref& r) { return r.name == "lm_head.weight"; });
  CHECK(refused<untied>(other).code == errc::tensor_missing);
}

TEST_CASE("weights: norms and biases are the file's numbers, from every type that is one") {
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    CAPTURE(info(type).name);
    tensors t = tensors::of<tied>();
    const tensors before = tensors::of<tied>();
    if (type != dtype::f32) t.store_as(type);
    const auto w = load<tied>(t);
    const code& block = tied::unfused[0];
    u32 vectors = 0;
    for (u32 l = 0; l < tied::layers; ++l)
      for (u32 i = 0; i < block.slots.size(); ++i) {
        const weight_slot& slot = block.slots[i];
        if (slot.quantisable) continue;
        std::string name(name_of(names_of<random_model::tiny>(), place::body, slot).hf[0].text);
        name.replace(name.find("{}"), 2, std::to_string(l)) += slot.bias ? ".bias" : ".weight";
        const tensor_ref* stored = before.index().find(name);
        REQUIRE(stored);
        bool same = true;
        for (u32 k = 0; k < slot.cols; ++k) {
          float got;
          std::memcpy(&got, w.row(l + 1)[i] + k * sizeof got, sizeof got);
          const float x = tensors::number(*stored, k);
          same = same &&
              got ==
                  (type == dtype::f32       ? x
                       : type == dtype::f16 ? from_f16(to_f16(x))
                                            : from_bf16(to_bf16(x)));
        }
        CHECK_MESSAGE(same, name);
        ++vectors;
      }
    CHECK(vectors == 2 * (2 + 2 + 3));  // norms, head norms, biases
  }
}

TEST_CASE("weights: taps lie [taps][channels], whether the file has a dimension of 1 between or not") {
  using P = program<random_model::recurrent, Q8_0>;
  const std::string name = "model.layers.2.conv.conv.weight";
  tensors t = tensors::of<P>();
  const auto plain = bytes_of_all<P>(load<P>(t));
  const auto tensor = std::ranges::find(t.list, name, &tensor_ref::name);
  REQUIRE(tensor != t.list.end());
  std::vector<float> numbers(96 * 6);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = tensors::number(*tensor, i);
  std::erase_if(t.list, [&](const tensor_ref& r) { return r.name == name; });
  t.add(name, {96, 1, 6}, numbers);
  const auto w = load<P>(t);
  CHECK(bytes_of_all<P>(w) == plain);
  const code& layer = P::unfused[P::kind_of[2]];
  u32 slot = 0;
  while (layer.slots[slot].is != role::conv || layer.slots[slot].bias) ++slot;
  const float* const taps = reinterpret_cast<const float*>(w.row(3)[slot]);
  bool placed = true;
  for (u32 c = 0; c < 96; ++c)
    for (u32 j = 0; j < 6; ++j) placed = placed && taps[j * 96 + c] == numbers[c * 6 + j];
  CHECK(placed);
  replace(t, name, {6, 96});
  CHECK(refused<P>(t).text == "random: tensor model.layers.2.conv.conv.weight: expected shape [96, 6], found [6, 96]");
  replace(t, name, {96, 2, 3});
  CHECK(refused<P>(t).text ==
        "random: tensor model.layers.2.conv.conv.weight: expected shape [96, 1, 6], found [96, 2, 3]");
  replace(t, name, {576});
  CHECK(refused<P>(t).code == errc::tensor_shape);
}

TEST_CASE("weights: the same bytes from any number of threads, each at a multiple of 64") {
  const tensors t = tensors::of<untied>();
  const auto one = load<untied>(t, {}, 1), four = load<untied>(t, {}, 4);
  CHECK(one.bytes() == four.bytes());
  CHECK(bytes_of_all<untied>(one) == bytes_of_all<untied>(four));
  std::set<const std::byte*> places;
  u32 slots = 0;
  for (u32 r = 0; r < one.rows(); ++r)
    for (u32 i = 0; i < max_slots; ++i) {
      if (!one.row(r)[i]) continue;
      CHECK(reinterpret_cast<std::uintptr_t>(one.row(r)[i]) % 64 == 0);
      places.insert(one.row(r)[i]);
      ++slots;
    }
  CHECK(places.size() == slots);
  CHECK(slots == t.list.size());
}

TEST_CASE("weights: memory is that of the packed numbers, and not much more") {
  const tensors t = tensors::of<untied>();
  const auto w = load<untied>(t);
  CHECK(w.bytes() >= untied::weight_bytes);
  CHECK(w.bytes() < 2 * untied::weight_bytes);  // 22 of 32 rows of a unit, at the least
}

TEST_CASE("weights: progress counts weights up to all of them") {
  const tensors t = tensors::of<untied>();
  u64 last = 0, total = 0;
  u32 calls = 0;
  load<untied>(t, [&](u64 done, u64 all) {
    CHECK(done > last);
    last = done, total = all;
    ++calls;
  });
  CHECK(calls == t.list.size());
  CHECK(last == total);
  CHECK(total == untied::parameters);
  CHECK_THROWS_WITH_AS(load<untied>(t, [](u64, u64) { throw std::runtime_error("cancelled"); }), "cancelled",
                       std::runtime_error);
}
