// SPDX-License-Identifier: MIT
// gguf_output.cpp: implements gguf_output.hpp.
#include "gguf_output.hpp"

#include <atomic>
#include <cmath>
#include <filesystem>

#include <cke/io/gguf_tokenizer_writer.hpp>
#include <cke/io/new_file.hpp>
#include <cke/kernels/formats/quantise.hpp>
#include <cke/runtime/cpu_count.hpp>
#include <cke/runtime/f8_matrix.hpp>
#include <cke/runtime/team.hpp>

#include "rooms.hpp"
#include "terminal.hpp"
#include "unwritten_file.hpp"

namespace cke::tool {
namespace {

// Writes the tensors one after the other, many rows at a time.
class tensor_writer {
 public:
  tensor_writer(const checkpoint& from, new_file& to, team& threads) : from_(from), to_(to), team_(threads) {}

  template <class Progress> void write(const planned_tensor& t, dtype type, u32 head_dim, Progress&& progress) {
    const u64 columns = t.columns(), row_bytes = bytes_of(type, columns), rows = t.row_count();
    if (!t.made.empty()) to_.write(std::as_bytes(std::span(t.made)));
    scaled_.clear();
    for (const row_run& r : t.rows)
      scaled_.push_back(r.from->type == dtype::f8_e4m3 ? f8_matrix_of(from_.tensors, from_.name, source_of(*r.from))
                                                       : f8_matrix{});
    const u64 step = std::max<u64>(1, buffer_bytes / std::max(row_bytes, columns * sizeof(float)));
    for (u64 first = 0; first < rows && t.made.empty(); first += step) {
      const u64 count = std::min(step, rows - first);
      encode(t, type, t.was == change::paired_heads ? head_dim : 0, first, count);
      to_.write(std::span(out_).first(count * row_bytes));
      progress(count * columns);
    }
    for (const row_run& r : t.rows) from_.tensors.drop(from_.tensors.number_of(r.from->name), r.from->bytes);
    static constexpr std::byte zeros[gguf_writer::alignment]{};
    to_.write(std::span(zeros).first(align_up(rows * row_bytes, gguf_writer::alignment) - rows * row_bytes));
  }

 private:
  source_tensor source_of(const tensor_ref& t) const { return from_.tensors.tensor(from_.tensors.number_of(t.name)); }

  static constexpr u64 buffer_bytes = 16 << 20;

  // The model's row for row r of the tensor, whose pairs of rows are d / 2 apart in the model.
  static u64 unpaired(u64 r, u64 d) { return d == 0 ? r : r / d * d + r % 2 * (d / 2) + r % d / 2; }

  void encode(const planned_tensor& t, dtype type, u64 paired_head_dim, u64 first, u64 count) {
    const u64 columns = t.columns(), row_bytes = bytes_of(type, columns);
    const u64 rows_at_once = std::max<u64>(1, 65536 / columns), units = (count + rows_at_once - 1) / rows_at_once;
    out_.resize(std::max(out_.size(), count * row_bytes));
    numbers_.resize(std::max(numbers_.size(), team_.size() * columns));
    std::atomic<bool> sane = true;
    team_.run([&](u32 thread) noexcept {
      float* const row = numbers_.data() + thread * columns;
      team_.share(thread, static_cast<u32>(units), [&](u32 unit) {
        const u64 end = std::min(count, (unit + 1) * rows_at_once);
        for (u64 i = unit * rows_at_once; i < end; ++i)
          if (!encode_row(t, type, unpaired(first + i, paired_head_dim), row, out_.data() + i * row_bytes))
            sane = false;
      });
    });
    if (!sane)
      throw Error(errc::config_range, from_.name, "tensor " + t.rows[0].from->name,
                  concat({"numbers that ", info(type).name, " can hold"}), "one that is not finite, or beyond 65504");
  }

  // Returns false if the type cannot represent a number.
  bool encode_row(const planned_tensor& t, dtype type, u64 source, float* row, std::byte* out) const {
    const u64 columns = t.columns();
    if (t.was == change::transposed) {
      read_column(t, source, row);
    } else {
      auto run = t.rows.begin();
      for (; source >= run->count; ++run) source -= run->count;
      if (run->from->type == type && t.was <= change::paired_heads && t.heads.empty()) {
        std::memcpy(out, run->from->bytes.data() + bytes_of(type, (run->first + source) * columns),
                    bytes_of(type, columns));
        return true;
      }
      // The columns of each head, if GGUF orders heads differently.
      const u64 heads = std::max<u64>(1, t.heads.size()), width = columns / heads;
      for (u64 h = 0; h < heads; ++h)
        read(t, run - t.rows.begin(), run->first + source, (t.heads.empty() ? 0 : t.heads[h]) * width, width, columns,
             row + h * width);
    }
    if (t.was == change::plus_one)
      for (u64 i = 0; i < columns; ++i) row[i] += 1;
    if (t.was == change::minus_exp)
      for (u64 i = 0; i < columns; ++i) row[i] = static_cast<float>(-std::exp(static_cast<double>(row[i])));
    const float most = type == dtype::f32 || type == dtype::bf16 ? std::numeric_limits<float>::max() : 65504.f;
    bool good = true;
    for (u64 i = 0; i < columns; ++i) good = good && std::abs(row[i]) <= most;
    if (good) kernels::quantise(type, row, columns, out);
    return good;
  }

  // Reads `count` numbers of one row of a run.
  void read(const planned_tensor& t, std::ptrdiff_t run, u64 row, u64 first, u64 count, u64 columns, float* out) const {
    const auto i = static_cast<std::size_t>(run);
    const tensor_ref& from = *t.rows[i].from;
    if (from.type == dtype::f8_e4m3) scaled_[i].read(row, first, count, out);
    else
      kernels::to_f32(from.type, from.bytes.data() + bytes_of(from.type, row * columns + first),
                      static_cast<u32>(count), out);
  }
  // Row r is a column of its head's run: GGUF stores each head's keys transposed.
  void read_column(const planned_tensor& t, u64 r, float* row) const {
    const u64 width = t.shape[1], head = r / width;  // of those rows
    for (u64 i = 0; i < t.columns(); ++i)
      read(t, static_cast<std::ptrdiff_t>(head), t.rows[head].first + i, r % width, 1, width, row + i);
  }

  const checkpoint& from_;
  new_file& to_;
  team& team_;
  std::vector<f8_matrix> scaled_;  // for each run of an f8_e4m3 tensor
  std::vector<std::byte> out_;
  std::vector<float> numbers_;
};

void add_metadata(gguf_writer& to, const checkpoint& from, const model_facts& model, u32 file_type) {
  static constexpr std::string_view ours[] = {"general.file_type", "general.quantization_version",
                                              "general.alignment", "split.no",
                                              "split.count",       "split.tensors.count"};
  if (from.as == naming::gguf) {
    const gguf file = gguf::read(from.name);
    for (const gguf_value& v : file.values())
      if (std::ranges::find(ours, v.key) == std::end(ours)) to.add(v);
  } else {
    to.add("general.architecture", model.architecture);
    to.add("general.type", "model");
    to.add("general.name", std::filesystem::canonical(from.name).filename().string());
    for (const auto& [name, value] : model.metadata)
      std::visit(
          [&, key = concat({model.architecture, ".", name})](const auto& v) {
            if constexpr (std::is_same_v<decltype(v), const std::vector<i32>&>) {
              to.add_array(key, std::span(v));
            } else if constexpr (std::is_same_v<decltype(v), const model_facts::flags&>) {
              std::array<bool, layer_set::most> each{};
              for (u32 layer = 0; layer < v.layers; ++layer) each[layer] = v.of.has(layer);
              to.add_array(key, std::span(std::as_const(each)).first(v.layers));
            } else {
              to.add(key, v);
            }
          },
          value);
    if (from.tokens) write_gguf_tokenizer(to, *from.tokens, from.stop_ids, model.rows, from.name);
    else to.add("tokenizer.ggml.model", "none");
  }
  to.add("general.file_type", file_type);
  to.add("general.quantization_version", u32{2});
}

// Reads the planned file as if it were written. Throws Error if it is not a valid model, or differs from its source.
void check_plan(const checkpoint& from, const std::string& name, std::string_view head,
                std::span<const planned_tensor> plan, std::span<const u64> offsets, u64 size) {
  unwritten_file file(size);
  file.put(0, std::as_bytes(std::span(head)));
  for (std::size_t i = 0; i < plan.size(); ++i)
    if (const planned_tensor& t = plan[i]; t.name.starts_with("rope_f"))  // no other tensor's numbers are read
      file.put(head.size() + offsets[i], t.made.empty() ? t.rows[0].from->bytes : std::as_bytes(std::span(t.made)));
  const checkpoint written = gguf_checkpoint(gguf::parse(file.bytes(), name));
  if (from.as == naming::hf) check_written(from, written);
  make_unit(written, {});
}

}  // namespace

void write_gguf(const checkpoint& from, const model_facts& model, const std::vector<planned_tensor>& plan,
                const std::vector<dtype>& types, const gguf_output& to) {
  gguf_writer header;
  add_metadata(header, from, model, to.file_type);
  u64 numbers = 0, weight_bytes = 0;
  std::vector<u64> offsets;  // of each tensor, relative to the end of the header
  for (std::size_t i = 0; i < plan.size(); ++i) {
    offsets.push_back(header.data_bytes());
    weight_bytes += header.add_tensor(plan[i].name, plan[i].shape, types[i]);
    numbers += plan[i].row_count() * plan[i].columns();
  }

  const std::string head = header.bytes();
  const u64 size = head.size() + header.data_bytes();
  check_plan(from, to.path, head, plan, offsets, size);
  team threads(to.threads ? to.threads : default_threads());
  new_file file(to.path, size);
  file.write(std::as_bytes(std::span(head)));
  {
    progress bar(to.verb);
    const interrupt_guard ctrl_c;
    tensor_writer out(from, file, threads);
    u64 done = 0;
    for (std::size_t i = 0; i < plan.size(); ++i)
      out.write(plan[i], types[i], model.head_dim, [&](u64 more) {
        bar.show(done += more, numbers);
        if (interrupt_guard::flag())
          throw Error(errc::file, to.path, {}, "the time to finish it", "an interrupt: nothing was written");
      });
  }
  file.commit();
  char bits[32];
  std::snprintf(bits, sizeof bits, "%.2f", 8 * static_cast<double>(weight_bytes) / static_cast<double>(numbers));
  put(to.path + ": " + std::to_string(plan.size()) + " tensors, " + bytes_text(static_cast<double>(size)) + ", " +
      bits + " bits a weight\n");
}

}  // namespace cke::tool
