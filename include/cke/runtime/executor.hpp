// SPDX-License-Identifier: MIT
// executor.hpp: a program run on a team of threads, as a fold over the steps of each kind of block.
#pragma once

#include <cmath>
#include <span>

#include "../graph/program.hpp"
#include "../kernels/heads.hpp"
#include "../kernels/linear.hpp"
#include "../kernels/rows.hpp"
#include "state.hpp"
#include "team.hpp"
#include "weights.hpp"

namespace cke {

// The memory of a pass, shared by all sessions of a model: one pass runs at a time.
struct pass {
  u32 tokens{}, position{};
  const u32* ids{};
  u32 skip{};  // rows of the stream that the current block leaves out: the footer takes the last ones
};

// cos and sin for every position of a context, one table for each distinct rope of a program.
class rope_cache {
 public:
  struct table {
    rotary rope;
    std::vector<float> cos, sin;  // [context][dims / 2]
  };
  void add(const rotary& r, u32 head_dim, u32 context) {
    for (const table& t : tables_)
      if (t.rope == r) return;
    const rope_frequencies f = rope_frequencies::of(r, head_dim, context);
    const u64 half = f.inverse.size();
    table t{r, std::vector<float>(half * context), std::vector<float>(half * context)};
    for (u64 p = 0; p < context; ++p) f.row(p, t.cos.data() + p * half, t.sin.data() + p * half);
    tables_.push_back(std::move(t));
  }
  rope_view find(const rotary& r) const {
    for (const table& t : tables_)
      if (t.rope == r) return {t.cos.data(), t.sin.data()};
    return {};
  }

 private:
  std::vector<table> tables_;
};

// Where a program's registers are at run time, and what a step is handed. Both executors use it.
template <class P, dtype KV, class Isa> class workspace {
 public:
  static constexpr u32 codes = P::body_count + 2;  // header, bodies, footer

  workspace(capacity k, u32 threads) : capacity_(k) {
    const auto m = P::activations(k);
    u64 scratch = 0;
    each_code([&](u32 index, const code& c) {
      const u32 rows = index == codes - 1 ? k.logit_rows : k.chunk;
      layouts_[0][index] = place_registers(c, form::decode, rows < decode_rows ? rows : decode_rows);
      layouts_[1][index] = place_registers(c, form::prefill, rows);
      for (const auto& i : c.ops) {
        const u64 need = scratch_of(i, k.chunk);
        scratch = need > scratch ? need : scratch;
        if (i.p.rope.dims) ropes_.add(i.p.rope, i.p.head_dim, k.context);
      }
    });
    own_bytes_ = align_up(m.own);
    thread_bytes_ = own_bytes_ + align_up(scratch) + 4096;
    memory_ = arena(m.stream + m.scratch + thread_bytes_ * threads);
    stream_ = memory_.take(m.stream);
    shared_ = memory_.take(m.scratch);
    threads_ = memory_.take(thread_bytes_ * threads);
  }

  const capacity& limits() const { return capacity_; }
  u64 bytes() const { return memory_.size(); }

  // The state of a step of code `index` (0: header, 1 + variant, last: footer) for one thread.
  CKE_INLINE work prepare(const code& c, u32 index, form f, const instruction& i, const pass& now, u32 thread,
                          const std::byte* const* weight_row, const slot_state<P, KV, Isa>& slot, u32 state) const {
    const layout& l = layouts_[f == form::prefill][index];
    work w;
    w.tokens = now.tokens, w.position = now.position, w.by = shares_of(i.op, f).by;
    w.scratch = threads_ + thread * thread_bytes_ + own_bytes_;
    for (u32 k = 0; k < i.in.count; ++k) w.in[k] = at(c, l, i.in[k], now, thread);
    for (u32 k = 0; k < i.out.count; ++k) w.out[k] = at(c, l, i.out[k], now, thread);
    for (u32 k = 0; k < i.weight.count; ++k) w.weight[k] = weight_row[i.weight[k]];
    if (i.state != absent) w.kv = slot.kv(state);
    if (i.p.rope.dims) w.rope = ropes_.find(i.p.rope);
    return w;
  }

  // Logits of the footer's rows, [rows][vocab] with a stride.
  view logits(form f) const {
    const code& c = P::foot();
    return at(c, layouts_[f == form::prefill][codes - 1], static_cast<reg>(c.regs.size() - 1), {}, 0);
  }

  template <class F> static void each_code(F f) {
    f(0u, P::head());
    for (u32 v = 0; v < P::body_count; ++v) f(v + 1, *P::bodies[v]);
    f(codes - 1, P::foot());
  }

 private:
  view at(const code& c, const layout& l, reg r, const pass& now, u32 thread) const {
    const value& v = c.regs[r];
    const u32 stride = row_stride(v.width);
    if (r == token_ids) return {reinterpret_cast<std::byte*>(const_cast<u32*>(now.ids)), 1, 1, dtype::f32};
    if (r == stream) return {stream_ + u64{now.skip} * stride * sizeof(float), v.width, stride, v.as};
    std::byte* base = l.is_own(r) ? threads_ + thread * thread_bytes_ : shared_;
    return {base + l.offset[r], v.width, stride, v.as};
  }

  // Bytes that a step's kernel uses of its thread's own memory.
  static u64 scratch_of(const instruction& i, u32 chunk) {
    switch (i.op) {
      case opcode::norm_quantize:
      case opcode::act_mul_quantize: return u64{i.p.cols} * sizeof(float);
      case opcode::matmul_act:
      case opcode::matmul_act_quantize: return u64{chunk} * unit_rows * sizeof(float);
      case opcode::attend:
      case opcode::attend_quantize: return attend_scratch<KV, Isa>(i.p);
      default: return 0;
    }
  }

  capacity capacity_;
  arena memory_;
  std::byte *stream_{}, *shared_{}, *threads_{};
  u64 own_bytes_{}, thread_bytes_{};
  layout layouts_[2][codes]{};
  rope_cache ropes_;
};

// The kernel's dtype: of its matrix, of the cache, or f32.
constexpr dtype kernel_dtype(const code& c, const instruction& i, dtype kv) {
  switch (i.op) {
    case opcode::kv_store:
    case opcode::attend:
    case opcode::attend_quantize: return kv;
    case opcode::embedding:
    case opcode::logits:
    case opcode::matmul:
    case opcode::matmul_add:
    case opcode::qkv_matmul:
    case opcode::matmul_act:
    case opcode::matmul_act_quantize: return c.formats[i.weight[0]];
    default: return dtype::f32;
  }
}

constexpr u32 row_units(const code& c, const instruction& i) {
  if (i.weight.count == 0) return 0;
  const u32 matrices = i.op == opcode::qkv_matmul ? 3 : 1;  // gate and up count once
  u32 n = 0;
  for (u32 k = 0; k < matrices; ++k) n += units_of_slot(c.slots[i.weight[k]]);
  return n;
}

// Walks the layers of a pass; Steps runs the phases of one code. Steps has
//   template <const code& C, form F> void run(u32 index, const pass&, thread, weight row, slot, state)
template <class P, dtype KV, class Isa> class executor {
 public:
  using slot = slot_state<P, KV, Isa>;

  executor(const weights<P, Isa>& w, team& threads, capacity k)
      : weights_(w), team_(threads), space_(k, threads.size()) {}

  const capacity& limits() const { return space_.limits(); }
  u64 bytes() const { return space_.bytes(); }

  // One pass: at most `chunk` ids go through all layers and into the slot's caches; then logits of
  // the last `rows` of them, at most `logit_rows` at a time: take(first row, rows, view).
  template <class Take> void run(std::span<const u32> ids, u32 rows, slot& s, Take&& take) {
    pass now{static_cast<u32>(ids.size()), s.position(), ids.data(), 0};
    team_.run([&](u32 thread) noexcept {
      if (form_of(now.tokens) == form::decode) layers<form::decode>(now, thread, s);
      else layers<form::prefill>(now, thread, s);
    });
    for (u32 first = now.tokens - rows; first < now.tokens;) {
      const u32 left = now.tokens - first, n = left < limits().logit_rows ? left : limits().logit_rows;
      const pass last{n, 0, nullptr, first};
      const form f = form_of(n);
      team_.run([&](u32 thread) noexcept {
        if (f == form::decode) code_run<P::foot(), form::decode>(workspace<P, KV, Isa>::codes - 1, last, thread, weights_.row(P::layers + 1), s, 0);
        else code_run<P::foot(), form::prefill>(workspace<P, KV, Isa>::codes - 1, last, thread, weights_.row(P::layers + 1), s, 0);
      });
      take(first, n, space_.logits(f));
      first += n;
    }
    s.advance(now.tokens);
  }

 private:
  template <form F> void layers(const pass& now, u32 thread, const slot& s) {
    code_run<P::head(), F>(0, now, thread, weights_.row(0), s, 0);
    u32 state = 0;
    for (u32 l = 0; l < P::layers; ++l) {
      [&]<std::size_t... V>(std::index_sequence<V...>) {
        (void)((P::variants.of[l] == V &&
                (code_run<P::template body<V>(), F>(V + 1, now, thread, weights_.row(l + 1), s, state), true)) ||
               ...);
      }(std::make_index_sequence<P::body_count>{});
      state += P::plain[P::kind_of[l]].states.size();
    }
  }

  template <const code& C, form F>
  [[gnu::noinline]] void code_run(u32 index, const pass& now, u32 thread, const std::byte* const* row,
                                  const slot& s, u32 state) {
    static constexpr schedule plan = phases_of(C, F);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (phase_run<C, F, plan.phases[I]>(index, now, thread, row, s, state), ...);
    }(std::make_index_sequence<plan.phases.size()>{});
  }

  template <const code& C, form F, phase Ph>
  CKE_INLINE void phase_run(u32 index, const pass& now, u32 thread, const std::byte* const* row, const slot& s,
                            u32 state) {
    auto prepared = [&](u32 k) {
      const instruction& i = C.ops[Ph.first + k];
      return space_.prepare(C, index, F, i, now, thread, row, s, state + (i.state == absent ? 0 : i.state));
    };
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (step<C, Ph.first + K>(prepared(K), 0), ...);
    }(std::make_index_sequence<Ph.redundant>{});
    if constexpr (Ph.count > 0) {
      constexpr u32 first = u32{Ph.first} + Ph.redundant;
      constexpr const params& p = C.ops[first].p;
      const u32 units = units_of(Ph.by, now.tokens, p.kv_heads, row_units(C, C.ops[first]));
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        const work w[]{prepared(Ph.redundant + K)...};
        team_.share(thread, units, [&](u32 unit) { (step<C, first + K>(w[K], unit), ...); });
      }(std::make_index_sequence<Ph.count>{});
    }
    team_.barrier();
  }

  template <const code& C, u32 I> CKE_INLINE void step(const work& w, u32 unit) {
    static constexpr instruction i = C.ops[I];
    dispatch<i.op, kernel_dtype(C, i, KV), Isa>::run(i.p, w, unit);
  }

  const weights<P, Isa>& weights_;
  team& team_;
  workspace<P, KV, Isa> space_;
};

}  // namespace cke
