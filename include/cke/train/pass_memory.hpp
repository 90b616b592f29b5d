// SPDX-License-Identifier: MIT
// pass_memory.hpp: where the values of a pass and their gradients live.
#pragma once

#include <vector>

#include "../runtime/arena.hpp"
#include "example_rows.hpp"
#include "rule_table.hpp"
#include "taped_program.hpp"

namespace cke::train {

// Every layer keeps its values for the way back, or its output alone, from which the next computes its values again:
// then all have one room for them, but for keys and values that later layers share. Gradients are those of one block at
// a time, except those that pass from block to block: of the stream, of the layer inputs, and of caches that later
// layers share.
template <class Isa> class pass_memory {
 public:
  pass_memory(const taped_program& p, u32 threads, u32 rank, bool recompute)
      : net_(p), threads_(threads), rank_(rank), recompute_(recompute) {
    for (u32 place = 1; place < net_.last_place(); ++place)
      for (const tape_step& s : net_.at(place).steps)
        if (s.i.op == opcode::attend && net_.at(place).states[s.i.state].shared)
          add_owner(net_.owner_of(place, net_.at(place).states[s.i.state]));
  }

  // Makes room for these rows, and gives each sequence its pages. Throws out_of_memory.
  void reserve(example_rows& rows) {
    const u32 segments = static_cast<u32>(rows.segments.size());
    if (rows.count() > rows_ || rows.longest > longest_ || segments > segments_)
      allocate(std::max(rows.count(), rows_), std::max(rows.longest, longest_), std::max(segments, segments_));
    pages_.assign(2 * u64{blocks_} * segments, nullptr);
    std::byte* next = kv_;
    for (u32 i = 0; i < segments; ++i) {  // blocks of keys and values, and one state
      std::byte** const of = &pages_[2 * u64{blocks_} * i];
      for (u32 b = 0; b < ceil_div(rows.segments[i].tokens, key_block); ++b, next += block_bytes_) of[b] = next;
      of[2 * blocks_ - 1] = states_ + i * state_bytes_;
      rows.segments[i].pages[0] = of, rows.segments[i].pages[1] = of + blocks_;
    }
  }
  u64 bytes() const { return memory_.size(); }
  // What reserve() takes for so many rows, in so many sequences.
  struct sizes {
    u64 values;  // of all layers, or of one and what passes between layers
    u64 slopes;  // gradients of the values of one layer, and of what passes between layers
    u64 kv, states, scratch, shared, low_rank;
    u64 total() const { return values + slopes + kv + states + scratch + shared + low_rank; }
  };
  sizes sizes_of(u32 rows, u32 longest, u32 segments) {
    measure(rows, longest);
    return total_of(rows, segments);
  }
  u32 blocks() const { return blocks_; }          // of a page
  u32 logit_rows() const { return logit_rows_; }  // rows that the footer takes at a time
  std::byte* scratch(u32 thread) const { return scratch_ + thread * scratch_bytes_; }
  std::byte* shared() const { return shared_; }
  float* low_rank_room() const { return reinterpret_cast<float*>(low_rank_); }

  static view view_of(std::byte* data, u32 width) { return {data, width, row_stride(width), dtype::f32}; }

  // Value `v` of a place's tape; `first`: the row that the footer's rows begin with.
  view value_of(u32 place, u32 v, u32 first, const u32* ids) const {
    const tape& t = net_.at(place);
    if (place > 0 && v == stream) return from_row(value_of(place - 1, net_.at(place - 1).last, 0, ids), place, first);
    if (v == token_ids) return {reinterpret_cast<std::byte*>(const_cast<u32*>(ids)), 1, 1, dtype::f32};
    if (is_inputs(place, v)) return inputs_at(inputs_, place);
    if (recompute_ && is_layer(place)) {
      if (v == t.last) return view_of(streams_ + (place - 1) * stream_bytes_, net_.dim);
      if (const owner* o = owning(place); o && (v == o->key || v == o->value))
        return view_of(o->kept[v == o->value], o->width);
    }
    return view_of(values_[place] + rooms_[net_.tape_number(place)].offset[v], t.values[v].width);
  }
  // Its gradient; `own`: of the block alone, and so to be cleared by the first step that adds to it.
  struct gradient {
    view at;
    bool own;
  };
  gradient gradient_of(u32 place, u32 v, u32 first) const {
    if (v == token_ids) return {};
    const tape& t = net_.at(place);
    const u32 turn = (net_.last_place() - place) % 2;  // blocks read and write the stream's two gradients in turns
    if (v == t.last && place != net_.last_place()) return {view_of(dstream_[1 - turn], net_.dim), false};
    if (place > 0 && v == stream) return {from_row(view_of(dstream_[turn], net_.dim), place, first), true};
    if (is_inputs(place, v)) return {inputs_at(dinputs_, place), false};
    if (const owner* o = owning(place); o && (v == o->key || v == o->value))
      return {view_of(o->gradient[v == o->value], o->width), false};
    return {view_of(gradients_ + rooms_[net_.tape_number(place)].offset[v], t.values[v].width), true};
  }

  // A layer whose keys and values later ones share.
  struct owner {
    u32 place, width;
    reg key, value;            // values of its tape
    std::byte* gradient[2]{};  // of both, from all layers
    std::byte* kept[2]{};      // both, where the others are not kept
  };
  const owner* owning(u32 place) const {
    for (const owner& o : owners_)
      if (o.place == place) return &o;
    return nullptr;
  }
  // f(view) for the gradients that a pass clears once, as no step is the first to add to them.
  template <class F> void each_lasting(F f) const {
    if (net_.inputs_width > 0) f(view_of(dinputs_, net_.inputs_width));
    for (const owner& o : owners_)
      for (std::byte* d : o.gradient) f(view_of(d, o.width));
  }

 private:
  struct room {  // of the values of a tape
    std::vector<u64> offset;
    u64 bytes = 0;
  };

  void add_owner(u32 place) {
    if (owning(place)) return;
    for (const tape_step& s : net_.at(place).steps)
      if (s.i.op == opcode::attend)
        owners_.push_back({place, net_.at(place).values[s.i.in[1]].width, s.i.in[1], s.i.in[2], {}, {}});
  }
  view from_row(view v, u32 place, u32 first) const {
    if (place == net_.last_place()) v.data += u64{first} * v.stride * sizeof(float);
    return v;
  }
  bool is_layer(u32 place) const { return place > 0 && place < net_.last_place(); }
  bool is_inputs(u32 place, u32 v) const {
    return net_.inputs_width > 0 && v == (place == 0 ? net_.at(0).inputs_out : layer_inputs);
  }
  // Each layer sees its own part of the header's second output.
  view inputs_at(std::byte* data, u32 place) const {
    if (place == 0) return view_of(data, net_.inputs_width);
    const u32 width = net_.at(place).values[layer_inputs].width;
    return {data + u64{place - 1} * width * sizeof(float), width, row_stride(net_.inputs_width), dtype::f32};
  }

  // The rooms of tapes, and the largest of what steps need.
  void measure(u32 rows, u32 longest) {
    logit_rows_ = std::min(std::clamp((u32{1} << 22) / net_.vocab, 16u, 256u), rows);
    rooms_.assign(net_.tapes.size(), {});
    u64 states = 0;
    block_bytes_ = own_bytes_ = scratch_bytes_ = shared_bytes_ = 0;
    for (u32 k = 0; k < rooms_.size(); ++k) {
      const tape& t = net_.tapes[k];
      const u32 n = k + 1 == rooms_.size() ? logit_rows_ : rows;
      for (const value& v : t.values)
        rooms_[k].offset.push_back(rooms_[k].bytes), rooms_[k].bytes += register_bytes(v, n);
      own_bytes_ = std::max(own_bytes_, rooms_[k].bytes);
      for (const tape_step& s : t.steps) {
        const rule_entry& r = rules_of<Isa>()[s.i.op];
        scratch_bytes_ = std::max(scratch_bytes_, align_up(r.scratch_bytes(s.i.p, n, longest)));
        shared_bytes_ = std::max(shared_bytes_, align_up(r.shared_bytes(s.i.p, n, longest)));
        if (s.i.op != opcode::attend) continue;
        const head_shape& shape = s.i.p.template as<attention_params>().shape;
        block_bytes_ = std::max(block_bytes_, shape.kv_heads * kv_cache<dtype::f32, Isa>::block_bytes(shape.head_dim));
      }
      for (const state_shape& s : t.states)
        if (is_recurrent(s.what))
          states = std::max(states, u64{s.rows} * s.heads * align_up(s.head_dim, unit_rows) * sizeof(float));
    }
    state_bytes_ = align_up(states), blocks_ = ceil_div(longest, key_block);
    stream_bytes_ = register_bytes({net_.dim}, rows);
    input_bytes_ = net_.inputs_width ? register_bytes({net_.inputs_width}, rows) : 0;
    streams_bytes_ = recompute_ ? net_.layers() * stream_bytes_ : 0;
  }
  // f(place, bytes), where layers may have one room together.
  template <class F> void each_room(F f) const {
    u64 most = 0;
    for (u32 place = 0; place <= net_.last_place(); ++place) {
      const u64 bytes = rooms_[net_.tape_number(place)].bytes;
      if (recompute_ && is_layer(place)) most = std::max(most, bytes);
      else f(place, bytes);
    }
    if (most) f(1, most);
  }
  sizes total_of(u32 rows, u32 segments) const {
    sizes s{streams_bytes_ + input_bytes_,
            own_bytes_ + 2 * stream_bytes_ + input_bytes_,
            (ceil_div(rows, key_block) + segments) * block_bytes_,
            segments * state_bytes_,
            scratch_bytes_ * threads_,
            shared_bytes_,
            align_up(u64{2} * rows * rank_ * sizeof(float))};
    each_room([&](u32, u64 bytes) { s.values += bytes; });
    for (const owner& o : owners_) {
      const u64 both = 2 * register_bytes({o.width}, rows);
      s.slopes += both, s.values += recompute_ ? both : 0;
    }
    return s;
  }

  void allocate(u32 rows, u32 longest, u32 segments) {
    rows_ = longest_ = segments_ = 0;  // of nothing, until there is memory
    memory_ = {};
    measure(rows, longest);
    const sizes s = total_of(rows, segments);
    memory_ = arena(s.total() + 4096);
    values_.assign(net_.last_place() + 1, nullptr);
    each_room([&](u32 place, u64 bytes) { values_[place] = memory_.take(bytes); });
    for (u32 place = 2; recompute_ && is_layer(place); ++place) values_[place] = values_[1];
    gradients_ = memory_.take(own_bytes_), streams_ = memory_.take(streams_bytes_);
    low_rank_ = memory_.take(s.low_rank);
    for (auto& d : dstream_) d = memory_.take(stream_bytes_);
    inputs_ = memory_.take(input_bytes_), dinputs_ = memory_.take(input_bytes_);
    for (owner& o : owners_)
      for (u32 k = 0; k < 2; ++k) {
        o.gradient[k] = memory_.take(register_bytes({o.width}, rows));
        if (recompute_) o.kept[k] = memory_.take(register_bytes({o.width}, rows));
      }
    scratch_ = memory_.take(s.scratch), shared_ = memory_.take(s.shared);
    kv_ = memory_.take(s.kv), states_ = memory_.take(s.states);
    rows_ = rows, longest_ = longest, segments_ = segments;
  }

  const taped_program net_;
  const u32 threads_, rank_;
  const bool recompute_;
  std::vector<owner> owners_;
  u32 rows_ = 0, longest_ = 0, segments_ = 0;  // what there is room for
  u32 logit_rows_ = 0, blocks_ = 0;
  u64 block_bytes_ = 0, state_bytes_ = 0, stream_bytes_ = 0, streams_bytes_ = 0, input_bytes_ = 0;
  u64 scratch_bytes_ = 0, shared_bytes_ = 0, own_bytes_ = 0;  // own: of the largest tape's values
  arena memory_;
  std::vector<room> rooms_;         // by tape
  std::vector<std::byte*> values_;  // by place
  std::byte *gradients_{}, *inputs_{}, *dinputs_{}, *scratch_{}, *shared_{}, *kv_{}, *states_{}, *streams_{},
      *low_rank_{};
  std::byte* dstream_[2]{};
  std::vector<std::byte*> pages_;
};

}  // namespace cke::train
