// SPDX-License-Identifier: MIT
// executor.cuh: runs a program on a device: each step of each layer is a launch; recurring passes replay CUDA graphs.
#pragma once

#include <map>
#include <set>

#include "../graph/contract.hpp"
#include "../runtime/device_sequence.hpp"
#include "../runtime/run_pass.hpp"
#include "ahead.cuh"
#include "choose.cuh"
#include "device_memory.cuh"
#include "layout.cuh"
#include "pass_rows.cuh"

namespace cke::runtime {

template <class Device> inline constexpr bool is_device<cuda::isa<Device>> = true;

// The counterpart of runtime::executor on a device; it walks the same codes. Registers share memory by the
// contract's linear scan, which is safe because launches run one after the other. Everything that differs from pass to
// pass (ids, segments with their positions, the page table) is in device memory, so a recorded graph can be replayed.
template <class P, dtype KV, class Device> class device_executor final : public pass_executor {
  using states = state_layout<P, KV, cuda::isa<Device>>;

 public:
  // Throws config_range, out_of_memory; unsupported if there is no device.
  device_executor(const weights& w, capacity k)
      : limits_(checked(k)),
        weights_(w),
        device_(),
        memory_(device_),
        rows_(memory_, k.chunk, ceil_div(k.context, key_block)) {
    upload_weights();
    place(P::header_code(), k.chunk), place(P::footer_code(), k.logit_rows);
    for (const code* c : P::bodies) place(*c, k.chunk);
    scratch_ = memory_.take(scratch_bytes_);
    stream_ = {memory_.take(u64{k.chunk} * row_stride(P::dim) * 4), P::dim, row_stride(P::dim), dtype::f32};
    const u64 attended = u64{attention_tokens} * std::bit_ceil(ceil_div(k.context, key_block)) * part_floats_;
    parts_ = reinterpret_cast<float*>(memory_.take(std::max(attended, expert_floats_) * sizeof(float)));
    if (k.chunk > decode_rows) spare_page_ = memory_.take(states::plan.bytes(states::plan.persistent));
    logits_.resize(u64{k.logit_rows} * row_stride(P::vocab));
  }

  const capacity& limits() const override { return limits_; }
  u64 bytes() const override { return memory_.bytes() - weights_.bytes(); }
  page_memory* memory_of_pages() override { return &memory_; }
  void watch(const tracer&) override {}  // the steps of a device run on no thread that could report

  void run(u32 count, function_ref<pass_part(u32)> part_of) override { shared_pass::run(*this, count, part_of); }

  // Returns the id for `position`, chosen from the logits before it. Throws config_range unless all logits are finite.
  u32 choose(const float* logits, u32 position, const device_sampling& how) {
    cuda::step s;
    s.in[0] = {memory_of_choice(), P::vocab, row_stride(P::vocab), dtype::f32},
    s.out[0].data = memory_of_choice() + align_up(u64{P::vocab} * sizeof(float)) + 64;
    s.how_chosen = to_device(how), s.first = position, s.cols = P::vocab;
    device_.write(s.in[0].data, logits, u64{P::vocab} * sizeof(float));
    device_.template launch<cuda::choose_kernel>({}, s);
    u32 id{};
    device_.read(&id, s.out[0].data, sizeof id);
    if (id >= P::vocab) throw Error(errc::config_range, {}, "logit", "a finite number or -inf", "another");
    return id;
  }
  // Feeds `first` and the ids chosen after it in one launch; see cuda::ahead. Pages for n positions must be reserved.
  template <class Take> u32 run_ahead(u32 first, u32 n, sequence_state& s, std::span<const u32> stop,
                                      const device_sampling& how, float* logits, Take&& take) {
    if (!ahead_)
      ahead_ =
          std::make_unique<cuda::ahead<P, KV, Device>>(device_, limits_.context, [&](const code& c, u32 step, u32 row) {
            u32 state = 0;
            for (u32 l = 0; l + 1 < row && l < P::layers; ++l) state += P::unfused[P::kind_of[l]].states.size();
            return addresses_of(c, c.ops[step], row, state);
          });
    const u32 fed = ahead_->run(first, n, s.position(), {s.pages(), ceil_div(s.position() + n, key_block)}, stop,
                                to_device(how), reinterpret_cast<float*>(stream_.data), parts_, logits, take);
    s.advance(fed);
    return fed;
  }

 private:
  static constexpr u32 attention_tokens = 32;             // of one launch
  static constexpr u32 prompt_rows = 64, of_prompt = 32;  // fewer rows, or rows of a sequence, are no prompt's
  static constexpr u32 alike_rows = 32;            // prompt passes are padded to a multiple, to replay fewer graphs
  static constexpr u32 codes = P::body_count + 2;  // header, bodies, footer

  // The emitters of a code's steps, in order.
  template <const code& C> static constexpr auto emitters = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<cuda::emit<Device>*, sizeof...(I)>{
        &cuda::emitter<C.ops[I].op, types_of(C, C.ops[I], KV), Device>::to...};
  }(std::make_index_sequence<C.ops.size()>{});
  struct code_ref {
    const code* c;
    cuda::emit<Device>* const* emit;
  };
  template <const code& C> static constexpr code_ref ref{&C, emitters<C>.data()};
  static constexpr std::array<code_ref, codes> all_codes = []<std::size_t... V>(std::index_sequence<V...>) {
    return std::array<code_ref, codes>{ref<P::header_code()>, ref<P::template body<V>()>..., ref<P::footer_code()>};
  }(std::make_index_sequence<P::body_count>{});

  static capacity checked(const capacity& k) {
    if (k.chunk > cuda::most_rows_of_pass)
      throw Error(errc::config_range, {}, "chunk", concat({"1 to ", cuda::most_rows_of_pass, " on a device"}),
                  concat({k.chunk}));
    return k;
  }

  void upload_weights() {
    const std::byte* const host = weights_.row(0)[0];  // the first weight is the start of the arena
    packed_ = memory_.take(weights_.bytes());
    device_.write(packed_, host, weights_.bytes());
  }
  const std::byte* weight_at(u32 row, u32 which) const {
    return packed_ + (weights_.row(row)[which] - weights_.row(0)[0]);
  }

  struct register_map {
    physical_mapping map;
    std::vector<u64> offset;  // of each physical register
  };
  void place(const code& c, u32 rows) {
    register_map& m = maps_[&c];
    m.map = map_registers(compile(c), rows);
    u64 used = 0;
    for (u32 r = 0; r < m.map.count; ++r) m.offset.push_back(used), used += align_up(m.map.bytes[r]);
    scratch_bytes_ = std::max(scratch_bytes_, used);
    for (const instruction& i : c.ops) {
      if (i.op == opcode::expert_sum || i.op == opcode::expert_sum_add) {
        const auto& p = i.p.as<expert_sum_params>();
        expert_floats_ = std::max(expert_floats_, u64{rows} * p.route.active * p.rows);
      }
      if (attends(i.op)) {
        const head_shape& shape = i.p.as<attention_params>().shape;
        part_floats_ = std::max(part_floats_, shape.heads * (shape.head_dim + 2));
      }
      if (const turned_head of = turned(i.p); of.rope && !ropes_.find(*of.rope, of.head_dim).cos)
        add_rope(*of.rope, of.head_dim);
    }
  }
  void add_rope(const rotary& r, u32 head_dim) {
    ropes_.add(r, head_dim, limits_.context);
    const rope_view host = ropes_.find(r, head_dim);
    const u64 bytes = u64{rope_width(r, head_dim) / 2} * limits_.context * sizeof(float);
    const auto moved = [&](const float* from) {
      std::byte* const to = memory_.take(bytes);
      device_.write(to, from, bytes);
      return reinterpret_cast<const float*>(to);
    };
    ropes_on_device_[host.cos] = {moved(host.cos), moved(host.sin)};
  }

  // ---- launches

  friend shared_pass;
  void begin_pass() { rows_.clear(); }
  void add(const pass_part& p) { rows_.add(p.ids, p.of.position(), p.of.pages()); }
  void copy_row(u32 from, u32 to) { device_.copy(stream_row(to), stream_row(from), u64{P::dim} * sizeof(float)); }

  void run_layers(u32) {  // every row goes through all layers: a graph has one shape
    const u32 wanted = rows_.tokens(),
              tokens =
                  wanted <= decode_rows ? wanted : std::min(ceil_div(wanted, alike_rows) * alike_rows, limits_.chunk);
    rows_.fill_up(tokens, spare_page_);
    rows_.upload(device_);
    const pass_shape shape{0, tokens, std::bit_ceil(rows_.key_blocks()),
                           tokens >= prompt_rows && u64{rows_.sequences()} * of_prompt <= tokens};
    again(shape, [&] {
      launch_code(0, 0, 0, shape, 0);
      for (u32 l = 0, state = 0; l < P::layers; ++l) {
        launch_code(P::variants.of[l] + 1u, l + 1, state, shape, 0);
        state += P::unfused[P::kind_of[l]].states.size();
      }
    });
  }
  // Logits of stream rows [first, end), as many as there is room for.
  logit_block run_footer(u32 first, u32 end) {
    const u32 rows = std::min(end - first, limits_.logit_rows);
    again({rows, first, 0, false}, [&] { launch_code(codes - 1, P::layers + 1, 0, {0, rows, 1, false}, first); });
    const code& c = P::footer_code();
    const cuda::view v = register_view(c, static_cast<reg>(c.regs.size() - 1), 0);
    for (u32 r = 0; r < rows; ++r)
      device_.read(logits_.data() + u64{r} * v.stride, v.data + u64{r} * v.stride * sizeof(float),
                   u64{v.width} * sizeof(float));
    return {{reinterpret_cast<std::byte*>(logits_.data()), v.width, v.stride, dtype::f32}, rows};
  }

  // Hands out the hidden states of a part, whose rows start at `row` of the stream; the last norm is applied in place.
  void give_hidden(const pass_part& p, u32 row) {
    static constexpr const instruction& norm = P::unfused_footer().ops[0];
    static constexpr const norm_params& p_norm = norm.p.as<norm_params>();
    static_assert(norm.op == opcode::rmsnorm && p_norm.parts == 1 && p_norm.scale.v == 0);
    const u32 rows = p.tokens() - p.first;
    if (rows == 0) return;
    cuda::step s;
    s.in[0] = s.out[0] = {stream_row(row + p.first), stream_.width, stream_.stride, stream_.as};
    s.weight[0] = reinterpret_cast<const float*>(weight_at(P::layers + 1, norm.weight[0]));
    s.tokens = rows, s.cols = p_norm.cols, s.eps = p_norm.eps, s.offset = p_norm.offset;
    cuda::emitter<opcode::rmsnorm, dtype::f32, Device>::to(device_, s, attention_tokens);
    std::vector<float> x(P::dim);
    for (u32 r = 0; r < rows; ++r) {
      device_.read(x.data(), stream_row(row + p.first + r), x.size() * sizeof(float));
      p.hidden.take(p.hidden.user, p.index + r, x.data());
    }
  }

  // Records a pass as a graph the second time its shape occurs. (The first run loads the kernels, which is not allowed
  // during a capture.) The logits of prompts are not recorded: they may start at any row.
  struct pass_shape {
    u32 rows, tokens, blocks;  // rows: of logits; 0: the pass runs the layers
    bool of_prompts;
    auto operator<=>(const pass_shape&) const = default;
  };
  template <class F> void again(pass_shape shape, F launches) {
    if ((shape.rows > 0 && rows_.tokens() > decode_rows) || seen_.insert(shape).second) return launches();
    auto known = graphs_.find(shape);
    if (known == graphs_.end()) known = graphs_.emplace(shape, device_.record(launches)).first;
    device_.replay(known->second);
  }

  void launch_code(u32 index, u32 row, u32 state, pass_shape shape, u32 skip) {
    const code& c = *all_codes[index].c;
    for (u32 k = 0; k < c.ops.size(); ++k) {
      const instruction& i = c.ops[k];
      cuda::step s = step_of(c, i, row, state, skip);
      s.tokens = shape.tokens, s.key_blocks = shape.blocks, s.of_prompts = shape.of_prompts;
      all_codes[index].emit[k](device_, s, attention_tokens);
    }
  }

  // A row of logits, the chosen id, and the sampling options; allocated on first use.
  std::byte* memory_of_choice() {
    if (!choice_) choice_ = memory_.take(align_up(u64{P::vocab} * sizeof(float)) + 128);
    return choice_;
  }
  const device_sampling* to_device(const device_sampling& how) {
    std::byte* const at = memory_of_choice() + align_up(u64{P::vocab} * sizeof(float));
    device_.write(at, &how, sizeof how);
    return reinterpret_cast<const device_sampling*>(at);
  }

  std::byte* stream_row(u32 row) const { return stream_.data + u64{row} * stream_.stride * sizeof(float); }
  cuda::view register_view(const code& c, reg r, u32 skip) const {
    if (r == token_ids) return {};
    if (r == stream) return {stream_row(skip), stream_.width, stream_.stride, stream_.as};
    const register_map& m = maps_.at(&c);
    const value& v = c.regs[r];
    return {scratch_ + m.offset[m.map.of[r]], v.width, row_stride(v.width), v.as};
  }
  cuda::step step_of(const code& c, const instruction& i, u32 row, u32 state, u32 skip) const {
    cuda::step s = bind(cuda::unbound_of(c, i), addresses_of(c, i, row, state),
                        [&](reg r, bool) { return register_view(c, r, skip); });
    s.now = rows_.now(), s.parts = parts_;
    return s;
  }
  cuda::addresses addresses_of(const code& c, const instruction& i, u32 row, u32 state) const {
    cuda::addresses a;
    const cuda::unbound u = cuda::unbound_of(c, i);
    const auto vector = [&](u8 which) {
      return which == absent ? nullptr : reinterpret_cast<const float*>(weight_at(row, which));
    };
    for (u32 k = 0; k < u.s.matrix_count; ++k) a.matrix[k] = weight_at(row, u.matrix[k]);
    for (u32 k = 0; k < 3; ++k) a.bias[k] = vector(u.bias[k]);
    for (u32 k = 0; k < 2; ++k) a.vector[k] = vector(u.vector[k]);
    if (i.state != absent) {
      const kv_place at = states::places[state + i.state];
      a.kv_offset = at.offset, a.kv_block_bytes = at.block_bytes;
    }
    if (const turned_head of = turned(i.p); of.rope) {
      const rope_view v = ropes_on_device_.at(ropes_.find(*of.rope, of.head_dim).cos);
      a.cos = v.cos, a.sin = v.sin;
    }
    a.scale = attends(i.op) && u.s.scale == 0 ? static_cast<float>(1 / std::sqrt(static_cast<double>(u.s.head_dim)))
                                              : u.s.scale;
    return a;
  }

  capacity limits_;
  const weights& weights_;
  Device device_;
  mutable cuda::device_memory<Device> memory_;
  cuda::pass_rows rows_;
  rope_cache ropes_;
  std::map<const float*, rope_view> ropes_on_device_;  // keyed by the host's cos table
  std::map<const code*, register_map> maps_;
  u64 scratch_bytes_{};
  u32 part_floats_{};    // per token and key block
  u64 expert_floats_{};  // for the experts of all tokens in a pass
  std::byte *packed_{}, *scratch_{}, *choice_{}, *spare_page_{};
  float* parts_{};
  cuda::view stream_{};
  std::set<pass_shape> seen_;
  std::map<pass_shape, typename Device::graph> graphs_;
  std::vector<float> logits_;
  std::unique_ptr<cuda::ahead<P, KV, Device>> ahead_;
};

template <class Device> struct walk_of<cuda::isa<Device>> {
  template <class P, dtype KV>
  static constexpr auto make = +[](const compiled_program&, const state_facts&, const weights& w, team&,
                                   const model_options& o) -> std::unique_ptr<pass_executor> {
    return std::make_unique<device_executor<P, KV, Device>>(w, o.limits());
  };
};
template <class P, dtype KV, class Device, class How> struct kind_of_sequence<loaded<P, KV, cuda::isa<Device>, How>> {
  using type = device_sequence<device_executor<P, KV, Device>>;
};

}  // namespace cke::runtime
