// SPDX-License-Identifier: MIT
// learner.hpp: runs tapes forth and back over sequences, and adds up gradients.
#pragma once

#include <array>
#include <vector>

#include "../runtime/pass.hpp"
#include "../runtime/rope_cache.hpp"
#include "parameters.hpp"
#include "rule_table.hpp"

namespace cke::train {

// What training needs to know of a program.
struct taped_program {
  std::span<const tape> tapes;   // header, kinds of layers, footer
  std::span<const u8> kind_of;   // [layers]
  u32 dim, vocab, inputs_width;  // inputs_width: numbers of a row of layer inputs; 0: none

  // A program whose operations have no gradient does not compile.
  template <class P> static constexpr taped_program of() {
    static_assert(checks::trains_all<lowered_header<typename P::header, signature{}>>());
    static_assert(checks::trains_all<lowered_block<typename P::footer, signature{}>>());
    []<class... Ks>(list<Ks...>) {
      static_assert((checks::trains_all<lowered_block<Ks, signature{}>>() && ...));
    }(typename P::kinds{});
    return {tapes_of<P>::all, P::kind_of, P::dim, P::vocab, P::layer_inputs_width};
  }
  u32 layers() const { return static_cast<u32>(kind_of.size()); }
  const tape& header() const { return tapes.front(); }
  const tape& layer(u32 l) const { return tapes[kind_of[l] + 1u]; }
  const tape& footer() const { return tapes.back(); }
};

// Ids, and for each the id that should follow it, or no_target.
struct example {
  std::span<const u32> ids, targets;
};

// The same bits for any number of threads, and for any cut of a list of examples into passes.
template <class Isa> class learner {
 public:
  // `context`: positions that rope's rules go by, and the most of an example. Throws out_of_memory, config_range.
  learner(const taped_program& n, parameters<Isa>& p, team& threads, u32 context)
      : net_(n), parameters_(p), team_(threads), context_(context) {
    if (context == 0 || context > most_positions)
      throw Error(errc::config_range, {}, "context", concat({"1 to ", most_positions}), concat({context}));
    for (const tape& t : net_.tapes)
      for (const tape_step& s : t.steps)
        if (const turned_head of = turned(s.i.p); of.rope) ropes_.add(*of.rope, of.head_dim, context);
    find_owners();
  }

  // One pass forth and back: adds to all gradients `by` times those of the sum of the losses of all targets, which it
  // returns. Throws token_range, context_overflow, usage, out_of_memory.
  double pass(std::span<const example> examples, float by, const loss_options& loss = {}) {
    gather(examples);
    reserve();
    by_ = by, loss_ = loss;
    team_.run([&](u32 thread) noexcept { everything_on(thread); });
    double sum = 0;
    for (const double x : losses_) sum += x;
    return sum;
  }
  u64 bytes() const { return memory_.size(); }

 private:
  using step_arg = const tape_step&;
  static constexpr u32 stream_value = 0, ids_value = 1, inputs_value = 2;

  // ---- the rows of a pass

  void gather(std::span<const example> examples) {
    ids_.clear(), targets_.clear(), segments_.clear(), segment_of_.clear(), tiles_.clear();
    longest_ = 0;
    for (const example& e : examples) {
      const auto n = static_cast<u32>(e.ids.size()), first = static_cast<u32>(ids_.size());
      if (e.targets.size() != n) throw Error(errc::usage, {}, "targets", concat({n}), concat({e.targets.size()}));
      if (n > context_)
        throw Error(errc::context_overflow, {}, "ids of an example", concat({"at most ", context_}), concat({n}));
      for (const u32 id : e.ids) check_id(id);
      for (const u32 id : e.targets)
        if (id != no_target) check_id(id);
      ids_.insert(ids_.end(), e.ids.begin(), e.ids.end());
      targets_.insert(targets_.end(), e.targets.begin(), e.targets.end());
      for (u32 t = 0; t < n; t += unit_tokens) tiles_.push_back(first + t);
      segment_of_.resize(first + n, static_cast<u32>(segments_.size()));
      if (n > 0) segments_.push_back({first, n, 0, {}});
      longest_ = std::max(longest_, n);
    }
    losses_.assign(ids_.size(), 0.0);
  }
  void check_id(u32 id) const {
    if (id >= net_.vocab) throw Error(errc::token_range, {}, "id", concat({"less than ", net_.vocab}), concat({id}));
  }
  u32 rows() const { return static_cast<u32>(ids_.size()); }

  // ---- memory

  struct room {  // of the values of a tape, on so many rows
    std::vector<u64> offset;
    u64 bytes = 0;
    void lay_out(const tape& t, u32 rows) {
      offset.clear(), bytes = 0;
      for (const value& v : t.values) offset.push_back(bytes), bytes += register_bytes(v, rows);
    }
  };

  void reserve() {
    const u32 n = rows();
    if (n <= planned_rows_ && longest_ <= planned_longest_ && segments_.size() <= planned_segments_)
      return give_pages();
    planned_rows_ = std::max(n, planned_rows_), planned_longest_ = std::max(longest_, planned_longest_);
    planned_segments_ = std::max(static_cast<u32>(segments_.size()), planned_segments_);
    const u32 most = planned_rows_;
    logit_rows_ = std::clamp((u32{1} << 22) / net_.vocab, 16u, 256u);
    logit_rows_ = std::min(logit_rows_, most);
    rooms_.resize(net_.tapes.size());
    u64 own_gradients = 0, scratch = 0, shared = 0, states = 0;
    block_bytes_ = 0;
    for (u32 k = 0; k < rooms_.size(); ++k) {
      const tape& t = net_.tapes[k];
      const u32 tape_rows = k + 1 == rooms_.size() ? logit_rows_ : most;
      rooms_[k].lay_out(t, tape_rows);
      own_gradients = std::max(own_gradients, rooms_[k].bytes);
      for (const tape_step& s : t.steps) {
        const rule_entry& r = rules_[s.i.op];
        scratch = std::max(scratch, align_up(r.scratch_bytes(s.i.p, tape_rows, planned_longest_)));
        shared = std::max(shared, align_up(r.shared_bytes(s.i.p, tape_rows, planned_longest_)));
        if (s.i.op == opcode::attend) {
          const head_shape& shape = s.i.p.template as<attention_params>().shape;
          block_bytes_ =
              std::max(block_bytes_, shape.kv_heads * kv_cache<dtype::f32, Isa>::block_bytes(shape.head_dim));
        }
      }
      for (const state_shape& s : t.states)
        if (is_recurrent(s.what))
          states = std::max(states, u64{s.rows} * s.heads * align_up(s.head_dim, unit_rows) * sizeof(float));
    }
    state_bytes_ = align_up(states);
    blocks_ = ceil_div(planned_longest_, key_block);
    const u64 stream_bytes = register_bytes({net_.dim}, most),
              input_bytes = net_.inputs_width ? register_bytes({net_.inputs_width}, most) : 0;
    kv_blocks_ = ceil_div(most, key_block) + planned_segments_;
    u64 values = 0;
    for (u32 l = 0; l < net_.layers(); ++l) values += rooms_[net_.kind_of[l] + 1u].bytes;
    u64 kept = 0;
    for (const owner& o : owners_) kept += 2 * register_bytes({o.width}, most);
    memory_ = {};  // before the new memory is taken
    memory_ = arena(rooms_.front().bytes + values + rooms_.back().bytes + own_gradients + 2 * stream_bytes +
                    2 * input_bytes + kept + scratch * team_.size() + shared + kv_blocks_ * block_bytes_ +
                    planned_segments_ * state_bytes_ + 4096);
    values_.clear();
    values_.push_back(memory_.take(rooms_.front().bytes));
    for (u32 l = 0; l < net_.layers(); ++l) values_.push_back(memory_.take(rooms_[net_.kind_of[l] + 1u].bytes));
    values_.push_back(memory_.take(rooms_.back().bytes));
    gradients_ = memory_.take(own_gradients);
    for (auto& d : dstream_) d = memory_.take(stream_bytes);
    inputs_ = memory_.take(input_bytes), dinputs_ = memory_.take(input_bytes);
    for (owner& o : owners_)
      for (auto& d : o.gradient) d = memory_.take(register_bytes({o.width}, most));
    scratch_bytes_ = scratch, scratch_ = memory_.take(scratch * team_.size());
    shared_ = memory_.take(shared);
    kv_ = memory_.take(kv_blocks_ * block_bytes_), states_ = memory_.take(planned_segments_ * state_bytes_);
    give_pages();
  }
  // Each sequence has blocks of keys and values, and one state.
  void give_pages() {
    pages_.assign(2 * u64{blocks_} * segments_.size(), nullptr);
    std::byte* next = kv_;
    for (u32 i = 0; i < segments_.size(); ++i) {
      std::byte** const of = &pages_[2 * u64{blocks_} * i];
      for (u32 b = 0; b < ceil_div(segments_[i].tokens, key_block); ++b, next += block_bytes_) of[b] = next;
      of[2 * blocks_ - 1] = states_ + i * state_bytes_;
      segments_[i].pages[0] = of, segments_[i].pages[1] = of + blocks_;
    }
  }

  // ---- caches that later layers share

  struct owner {
    u32 layer, width;
    reg key, value;            // values of its tape
    std::byte* gradient[2]{};  // of both, from all layers
  };
  void find_owners() {
    for (u32 l = 0; l < net_.layers(); ++l) {
      owner_of_.push_back(absent);
      for (const tape_step& s : net_.layer(l).steps) {
        if (s.i.op != opcode::attend) continue;
        const state_shape& mine = net_.layer(l).states[s.i.state];
        if (!mine.shared) continue;
        for (u32 before = l; before-- > 0 && owner_of_[l] == absent;)
          for (const tape_step& o : net_.layer(before).steps)
            if (o.i.op == opcode::attend && net_.layer(before).states[o.i.state].like(mine) &&
                !net_.layer(before).states[o.i.state].shared)
              owner_of_[l] = owner_at(before, o, mine.heads * mine.head_dim);
      }
    }
  }
  u8 owner_at(u32 layer, const tape_step& attend, u32 width) {
    for (u32 i = 0; i < owners_.size(); ++i)
      if (owners_[i].layer == layer) return static_cast<u8>(i);
    owners_.push_back({layer, width, attend.i.in[1], attend.i.in[2], {}});
    return static_cast<u8>(owners_.size() - 1);
  }
  const owner* owning(u32 layer) const {
    for (const owner& o : owners_)
      if (o.layer == layer) return &o;
    return nullptr;
  }

  // ---- a step's values and gradients. Places: 0 the header, l + 1 a layer, layers + 1 the footer.

  u32 last_place() const { return net_.layers() + 1; }
  const tape& tape_at(u32 place) const {
    return place == 0 ? net_.header() : place == last_place() ? net_.footer() : net_.layer(place - 1);
  }
  const room& room_at(u32 place) const {
    return place == 0 ? rooms_.front() : place == last_place() ? rooms_.back() : rooms_[net_.kind_of[place - 1] + 1u];
  }
  static view view_of(std::byte* data, u32 width) { return {data, width, row_stride(width), dtype::f32}; }

  // `first`: the row that the footer's rows begin with.
  view value_at(u32 place, u32 v, u32 first) const {
    const tape& t = tape_at(place);
    if (place > 0 && v == stream_value) {
      view last = value_at(place - 1, tape_at(place - 1).last, 0);
      if (place == last_place()) last.data += u64{first} * last.stride * sizeof(float);
      return last;
    }
    if (v == ids_value) return {reinterpret_cast<std::byte*>(const_cast<u32*>(ids_.data())), 1, 1, dtype::f32};
    if (net_.inputs_width > 0 && v == (place == 0 ? t.inputs_out : inputs_value)) return inputs_view(inputs_, place);
    return view_of(values_[place] + room_at(place).offset[v], t.values[v].width);
  }
  view inputs_view(std::byte* data, u32 place) const {
    if (place == 0) return view_of(data, net_.inputs_width);
    const u32 width = tape_at(place).values[inputs_value].width;
    return {data + u64{place - 1} * width * sizeof(float), width, row_stride(net_.inputs_width), dtype::f32};
  }
  struct gradient {
    view at;
    bool own;  // of the block alone, and so to be cleared by the first step that adds to it
  };
  gradient gradient_at(u32 place, u32 v, u32 first) const {
    const tape& t = tape_at(place);
    if (v == ids_value) return {};
    const u32 turn = (last_place() - place) % 2;  // blocks read and write the two gradients of the stream in turns
    if (v == t.last && place != last_place()) return {view_of(dstream_[1 - turn], net_.dim), false};
    if (place > 0 && v == stream_value) {
      view d = view_of(dstream_[turn], net_.dim);
      if (place == last_place()) d.data += u64{first} * d.stride * sizeof(float);
      return {d, true};
    }
    if (net_.inputs_width > 0 && v == (place == 0 ? t.inputs_out : inputs_value))
      return {inputs_view(dinputs_, place), false};
    if (place > 0 && place != last_place())
      if (const owner* o = owning(place - 1); o && (v == o->key || v == o->value))
        return {view_of(o->gradient[v == o->value], o->width), false};
    return {view_of(gradients_ + room_at(place).offset[v], t.values[v].width), true};
  }

  step_work work_of(u32 place, step_arg s, u32 first, u32 n) const {
    const instruction& i = s.i;
    step_work to;
    work& w = to.w;
    const tape& t = tape_at(place);
    for (u32 k = 0; k < i.in.count; ++k) {
      w.in[k] = value_at(place, i.in[k], first), to.din[k] = gradient_at(place, i.in[k], first).at;
    }
    for (u32 k = 0; k < i.out.count; ++k)
      w.out[k] = value_at(place, i.out[k], first), to.dout[k] = gradient_at(place, i.out[k], first).at;
    const auto& weights = parameters_.of(place);
    for (u32 k = 0; k < i.weight.count; ++k) {
      to.plain[k] = weights.plain[i.weight[k]], to.dweight[k] = weights.gradient[i.weight[k]];
      w.weight[k] = weights.packed[i.weight[k]];
    }
    if (i.op == opcode::attend && t.states[i.state].shared) {
      const owner& o = owners_[owner_of_[place - 1]];
      w.in[1] = value_at(o.layer + 1, o.key, 0), w.in[2] = value_at(o.layer + 1, o.value, 0);
      for (u32 k = 0; k < 2; ++k) to.din[1 + k] = view_of(o.gradient[k], o.width);
    }
    if (i.op == opcode::attend) {
      const head_shape& shape = i.p.template as<attention_params>().shape;
      w.kv = {0, kv_cache<dtype::f32, Isa>::block_bytes(shape.head_dim), blocks_, false};
    } else if (i.state != absent) {
      w.kv = {0, 0, blocks_, true};
    }
    if (const turned_head of = turned(i.p); of.rope) w.rope = ropes_.find(*of.rope, of.head_dim);
    w.tokens = n, w.segments = segments_, w.segment_of = segment_of_.data(), w.tiles = tiles_;
    to.longest = longest_;
    return to;
  }

  // ---- the pass, on every thread

  void everything_on(u32 thread) const noexcept {
    const crew c{team_, thread, scratch_ + thread * scratch_bytes_};
    const u32 n = rows();
    clear_shared_gradients(c, n);
    for (u32 place = 0; place < last_place(); ++place) forth(place, c, 0, n);
    for (u32 first = 0; first < n; first += logit_rows_) {
      const u32 count = std::min(logit_rows_, n - first);
      forth(last_place(), c, first, count);
      take_losses(c, first, count);
      back(last_place(), c, first, count);
    }
    for (u32 place = last_place(); place-- > 0;) back(place, c, 0, n);
  }
  void clear_shared_gradients(const crew& c, u32 n) const {
    if (net_.inputs_width > 0) clear(c, view_of(dinputs_, net_.inputs_width), n, net_.inputs_width);
    for (const owner& o : owners_)
      for (std::byte* d : o.gradient) clear(c, view_of(d, o.width), n, o.width);
  }
  static void clear(const crew& c, const view& v, u32 n, u32 width) {
    c.rows(n, [&](u32 t) { std::fill_n(v.row(t), width, 0.f); });
  }
  void forth(u32 place, const crew& c, u32 first, u32 n) const {
    for (step_arg s : tape_at(place).steps) {
      rules_[s.i.op].forward(s, work_of(place, s, first, n), c);
      c.barrier();
    }
  }
  void back(u32 place, const crew& c, u32 first, u32 n) const {
    const tape& t = tape_at(place);
    for (u32 k = t.steps.size(); k-- > 0;) {
      step_arg s = t.steps[k];
      for (u32 i = 0; i < s.i.in.count; ++i) {
        const gradient d = gradient_at(place, s.i.in[i], first);
        if (d.own && s.first[i]) clear(c, d.at, n * t.values[s.i.in[i]].rows, d.at.stride);
      }
      c.barrier();
      rules_[s.i.op].backward(s, work_of(place, s, first, n), c, shared_);
      c.barrier();
    }
  }
  void take_losses(const crew& c, u32 first, u32 n) const {
    const u32 place = last_place(), v = net_.footer().last;
    const view logits = value_at(place, v, first), slope = gradient_at(place, v, first).at;
    c.rows(n, [&](u32 t) {
      const u32 target = targets_[first + t];
      float* const x = slope.row(t);
      if (target == no_target) return void(std::fill_n(x, net_.vocab, 0.f));
      std::copy_n(logits.row(t), net_.vocab, x);
      losses_[first + t] = rules_.row_loss(x, net_.vocab, target, loss_, by_);
    });
    c.barrier();
  }

  const taped_program net_;
  const rule_table& rules_ = rules_of<Isa>();
  parameters<Isa>& parameters_;
  team& team_;
  const u32 context_;
  rope_cache ropes_;
  std::vector<owner> owners_;
  std::vector<u8> owner_of_;  // [layers]; absent: the layer reads no other's cache

  // The pass that runs:
  std::vector<u32> ids_, targets_, segment_of_, tiles_;
  std::vector<segment> segments_;
  std::vector<std::byte*> pages_;
  mutable std::vector<double> losses_;  // [rows]
  u32 longest_{};
  float by_{};
  loss_options loss_;

  // Memory, for the largest pass so far:
  u32 planned_rows_{}, planned_longest_{}, planned_segments_{}, logit_rows_{}, blocks_{}, kv_blocks_{};
  u64 block_bytes_{}, state_bytes_{}, scratch_bytes_{};
  arena memory_;
  std::vector<room> rooms_;         // by tape
  std::vector<std::byte*> values_;  // by place
  std::byte *gradients_{}, *inputs_{}, *dinputs_{}, *scratch_{}, *shared_{}, *kv_{}, *states_{};
  std::byte* dstream_[2]{};
};

}  // namespace cke::train
