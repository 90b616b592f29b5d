// SPDX-License-Identifier: MIT
// parity.hpp: the parity test of every kernel in the registry: each instruction set against the scalar one.
//
// A driver makes the cases of an operation: parameters, registers, weights, state. The test runs them on the kernel of
// the instruction set and on the scalar one, and compares all that they wrote. Unwritten numbers are NaN, and fail.
#pragma once

#include "../numbers.hpp"
#include "cke/graph/plan.hpp"
#include "cke/kernels/registry.hpp"
#include "parts.hpp"

namespace parity {

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace numbers;

// What a register holds before the step.
struct register_image {
  u32 width{};
  dtype as = dtype::f32;
  std::vector<float> numbers{};  // [rows][width]; none: never written
  std::vector<u32> runs{};       // rows of each run of operand tiles; none: one run of all rows
  std::vector<u32> words{};      // instead of numbers: ids, or the rows of experts
  u32 rows{};                    // of an output; an input has those of its numbers
  bool unread{};                 // an output that `stored` looks into
};
// A matrix [rows][cols] of a file, `count` of them one below the other, or a vector of floats.
struct weight_image {
  std::vector<float> vector{};
  dtype type = dtype::none;
  u32 count = 1, rows{}, cols{}, seed{};
};
struct parity_case {
  std::string what{};
  params p{};  // the block of the operation
  u32 tokens{};
  split by{};
  u32 units{};
  std::vector<register_image> in{}, out{};
  std::vector<weight_image> weights{};
  double within = 0;  // 0: the same bits
  // Where the operation has positions or a state.
  u32 position{};                  // of the first token; all tokens are of one sequence
  u64 page_bytes{};                // of the state in a page of key_block positions
  std::vector<std::byte> pages{};  // before the step
  kv_place kv{};
  u32 cut{};                        // work::cut
  std::vector<float> cos{}, sin{};  // [position][dims / 2]
  std::vector<u32> table_index{};   // of work::positions
  std::vector<float> table_weight{};
  u32 table_rows{};
  std::vector<const float*> features{};  // work::features
  std::vector<float> (*stored)(const parity_case&,
                               const work&) = nullptr;  // what it left elsewhere than in its outputs
};

using lines = std::vector<cache_line>;
inline lines poisoned(u64 bytes) {
  cache_line poison;
  std::memset(poison.bytes, 0xff, 64);
  return lines(bytes / 64 + 2, poison);
}

// A register in memory, in the form of one instruction set.
template <class Isa> class stored_register {
 public:
  stored_register(const register_image& r, u32 tokens) : image_(r) {
    rows_ = r.width && !r.numbers.empty() ? static_cast<u32>(r.numbers.size() / r.width) : r.rows ? r.rows : tokens;
    if (!r.words.empty()) {
      data_ = poisoned(r.words.size() * 4);
      std::memcpy(data_of(data_), r.words.data(), r.words.size() * 4);
    } else {
      data_ = poisoned(register_bytes({r.width, r.as, 1}, rows_));
    }
    view_ = {data_of(data_), r.width, row_stride(r.width), r.as};
    if (!r.numbers.empty())
      for_each_row([&](view v, u32 n, u32 row, u32 in_run) {
        store_row<Isa>(v, n, in_run, 0, r.width, &r.numbers[u64{row} * r.width]);
      });
  }
  const view& v() const { return view_; }
  std::vector<float> numbers() const {
    std::vector<float> out;
    for_each_row([&](view v, u32 n, u32, u32 in_run) {
      if (v.as == dtype::f32) out.insert(out.end(), v.row(in_run), v.row(in_run) + v.width);
      else if (v.as == dtype::bf16) read<dtype::bf16>(v, n, in_run, out);
      else read<dtype::q8_0>(v, n, in_run, out);
    });
    return out;
  }

 private:
  template <class F> void for_each_row(F f) const {
    const std::vector<u32> runs = image_.runs.empty() ? std::vector<u32>{rows_} : image_.runs;
    u32 row = 0;
    for (const u32 n : runs) {
      const view v = from_row<Isa>(view_, row);
      for (u32 i = 0; i < n; ++i) f(v, n, row++, i);
    }
  }
  template <dtype A> static void read(const view& v, u32 n, u32 row, std::vector<float>& out) {
    using operand = kernels::operand<A, Isa>;
    const u64 stride = operand::token_bytes(v.width);
    const auto tile = kernels::tile_at(n, row, operand::max_tile);
    for (u32 i = 0; i < v.width; ++i)
      out.push_back(operand::get(v.data + tile.first * stride, stride, tile.count, row - tile.first, i));
  }

  const register_image& image_;
  u32 rows_;
  lines data_;
  view view_;
};

template <dtype F, class Isa> lines packed_as(const weight_image& m) {
  const std::vector<std::byte> file = random_file(F, u64{m.count} * m.rows * m.cols, m.seed);
  const u32 per = units_of_group(m.rows), units = m.count * per;
  lines out = poisoned(kernels::packed<F, Isa>::bytes(units, m.cols));
  kernels::packed<F, Isa>::pack(data_of(out), units, m.cols, [&](auto&& pack_unit) {
    for (u32 u = 0; u < units; ++u) {
      const row_range r = rows_of_unit(m.rows, u);
      const std::byte* from[unit_rows]{};
      for (u32 i = 0; i < r.count; ++i) from[i] = &file[bytes_of(F, u64{r.first + i} * m.cols)];
      pack_unit(u, {r.count, from, F});
    }
  });
  return out;
}
template <class Isa> lines packed(const weight_image& m) {
  lines out;
  namespace hana = boost::hana;
  hana::for_each(registry::constants<weight_types>, [&]<dtype F>(hana::integral_constant<dtype, F>) {
    if (m.type == F) out = packed_as<F, Isa>(m);
  });
  return out;
}

// All that a step wrote: its registers, and its state.
template <class Isa, bool Matrices> std::vector<std::vector<float>> results(const parity_case& c, kernel_entry run) {
  static lines scratch = poisoned(1 << 21), parts = poisoned(1 << 22);
  std::memset(data_of(scratch), 0xff, scratch.size() * 64), std::memset(data_of(parts), 0xff, parts.size() * 64);
  std::vector<stored_register<Isa>> registers;
  registers.reserve(c.in.size() + c.out.size());
  std::vector<lines> weights;
  work w;
  w.tokens = c.tokens, w.by = c.by, w.kv = c.kv, w.cut = c.cut;
  w.scratch = data_of(scratch), w.parts = reinterpret_cast<float*>(data_of(parts));
  w.rope = {c.cos.data(), c.sin.data()};
  w.positions = {c.table_index.data(), c.table_weight.data(), c.table_rows};
  w.features = c.features.data();
  for (u32 i = 0; i < c.in.size(); ++i)
    if (c.in[i].width) w.in[i] = registers.emplace_back(c.in[i], c.tokens).v();
  const std::size_t first_out = registers.size();
  for (u32 i = 0; i < c.out.size(); ++i) w.out[i] = registers.emplace_back(c.out[i], c.tokens).v();
  weights.reserve(c.weights.size());
  for (u32 i = 0; i < c.weights.size(); ++i) {
    w.weight[i] = reinterpret_cast<const std::byte*>(c.weights[i].vector.data());
    if constexpr (Matrices)
      if (c.weights[i].type != dtype::none) w.weight[i] = data_of(weights.emplace_back(packed<Isa>(c.weights[i])));
  }
  std::vector<std::byte> memory = c.pages;
  std::vector<std::byte*> pages;
  for (u64 at = 0; at < memory.size(); at += c.page_bytes) pages.push_back(&memory[at]);
  const segment one{0, c.tokens, c.position, {pages.data()}};
  const std::vector<u32> segment_of(c.tokens, 0);
  std::vector<u32> tiles;
  for (u32 t = 0; t < c.tokens; t += unit_tokens) tiles.push_back(t);
  w.segments = {&one, 1}, w.segment_of = segment_of.data(), w.tiles = tiles;
  for (u32 u = c.units; u-- > 0;) run(c.p, w, u);
  std::vector<std::vector<float>> all;
  for (std::size_t i = 0; i < c.out.size(); ++i)
    if (!c.out[i].unread) all.push_back(registers[first_out + i].numbers());
  if (c.stored) all.push_back(c.stored(c, w));
  return all;
}

// `std::vector<parity_case> cases(kernel_types)` of an operation.
template <opcode Op> struct driver;
template <opcode Op> concept has_driver = requires { driver<Op>::cases(kernel_types{}); };

// The parity test of one kernel: the results of its instruction set beside those of the scalar kernel.
template <class Entry> struct parity {
  static_assert(has_driver<Entry::op>,
                "cke: parity: a kernel without a parity test; specialise parity::driver for its operation in "
                "tests/kernels/registry/drivers_*.hpp; "
                "see parity<entry<opcode, types, isa>>");
  using isa = typename Entry::isa;
  static constexpr bool matrices = registry::summary_of(Entry::op)->matrices > 0;
  using all_results = std::vector<std::vector<float>>;

  template <activation A> static all_results run(const parity_case& c) {
    REQUIRE(c.p.kind() == kind_of<params_of<Entry::op>>);
    return results<isa, matrices>(c, kernel_of<Entry::op, Entry::types.with(A), isa>());
  }
  static void check(const parity_case& c, const all_results& got, const all_results& want) {
    CAPTURE(isa::name);
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);  // which output
      const u64 width = i < c.out.size() ? c.out[i].width : 0;
      // No NaN: the scalar kernel has written everything.
      if constexpr (std::is_same_v<isa, cke::isa::scalar>) CHECK(distance(want[i], want[i], width) <= 0);
      else if (c.within == 0) CHECK(same_bits(got[i], want[i], width));
      else CHECK(distance(got[i], want[i], width) <= c.within);
    }
  }
};

// A form on every instruction set.
template <class Form, activation A> void test_form() {
  if constexpr (has_driver<Form::op>)
    for (const parity_case& c : driver<Form::op>::cases(Form::types)) {
      CAPTURE(c.what);
      const auto want = parity<registry::entry<Form::op, Form::types, isa::scalar>>::template run<A>(c);
      registry::for_each_isa_of<Form>([&]<class Entry>(boost::hana::basic_type<Entry>) {
        using test = parity<Entry>;
        if constexpr (std::is_same_v<typename Entry::isa, isa::scalar>) test::check(c, want, want);
        else test::check(c, test::template run<A>(c), want);
      });
    }
  else
    registry::for_each_isa_of<Form>([]<class Entry>(boost::hana::basic_type<Entry>) { (void)sizeof(parity<Entry>); });
}

// All kernels of a part. Kernels of floats run with every activation, those of other matrices with one of them.
template <part P> void tests_of<P>::run() {
  registry::for_each_form([]<class Form>(boost::hana::basic_type<Form>) {
    if constexpr (part_of(Form::op, Form::types) == P) {
      constexpr kernel_types t = Form::types;
      CAPTURE(name(Form::op));
      CAPTURE(info(t.first).name);
      CAPTURE((t.second == dtype::none ? "" : info(t.second).name));
      test_form<Form, activation::silu>();
      if constexpr (t == kernel_types(dtype::f32) &&
                    requires { &kernel<Form::op, t.first, isa::scalar>::template run<activation::silu>; }) {
        test_form<Form, activation::gelu_tanh>();
        test_form<Form, activation::gelu_erf>();
        test_form<Form, activation::relu2>();
      }
    }
  });
}

}  // namespace parity
