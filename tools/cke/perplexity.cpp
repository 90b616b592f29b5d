// SPDX-License-Identifier: MIT
// perplexity.cpp: cke perplexity: how well a model foresees a text, and how far it is from another model.
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench_table.hpp"
#include "commands.hpp"
#include "distribution.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

constexpr u32 rows_at_once = 32;  // of logits; with two models those of one are kept

// Mean and standard error of numbers that arrive one by one (Welford).
class average {
 public:
  void add(double x) {
    const double before = x - mean_;
    mean_ += before / static_cast<double>(++count_);
    squares_ += before * (x - mean_);
  }
  double mean() const { return mean_; }
  double error() const {
    const auto n = static_cast<double>(count_);
    return count_ > 1 ? std::sqrt(squares_ / (n - 1) / n) : 0;
  }

 private:
  u64 count_ = 0;
  double mean_ = 0, squares_ = 0;
};

// What two models say at the same places.
struct comparison {
  average loss, kl, same_best;
  double largest = 0;  // difference of a probability
  u64 largest_at = 0;  // its token's place in the text

  // `mine` and `reference` are the models' logits for the token at `place`.
  void add(std::span<const float> mine, std::span<const float> reference, u32 token, u64 place) {
    p_.set(reference), q_.set(mine);
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (const double apart = std::abs(p_.p(i) - q_.p(i)); apart > largest) largest = apart, largest_at = place;
    kl.add(divergence(p_, reference, q_, mine));
    same_best.add(p_.best() == q_.best());
    loss.add(-p_.log_p(reference[token]));
  }

 private:
  distribution p_, q_;
};

// A part of the text that is fed at once, and the first of its tokens that no window before it scored.
struct window {
  u64 begin, end, scored;
};
std::vector<window> windows_of(u64 tokens, u64 length, u64 stride) {
  std::vector<window> all;
  for (u64 begin = 0, done = 1; done < tokens; begin += stride) {
    all.push_back({begin, std::min(begin + length, tokens), done});
    done = all.back().end;
  }
  return all;
}

json_object figures(const average& loss) {
  const double perplexity = std::exp(loss.mean());
  return {{"perplexity", perplexity},
          {"standard_error", perplexity * loss.error()},
          {"mean_loss", loss.mean()},
          {"mean_loss_standard_error", loss.error()}};
}
std::string labelled(const std::string& name, const std::string& value) {
  return name + std::string(20 - std::min<std::size_t>(name.size(), 19), ' ') + value + '\n';
}
std::string with_error(const json_object& r, const char* value, const char* error, int digits) {
  return fixed(r[value].get<double>(), digits) + " ± " + fixed(r[error].get<double>(), digits);
}

void print(const json_object& r) {
  put(labelled(
          "text",
          r["file"].get<std::string>() + ", " + r["tokens"].dump() + " tokens, " + r["scored"].dump() + " scored") +
      labelled("windows", r["windows"].dump() + " of " + r["window"].dump() + " tokens, every " + r["stride"].dump()) +
      labelled("perplexity", with_error(r, "perplexity", "standard_error", 4) + "  " + r["model"].get<std::string>()));
  if (!r.contains("against")) return;
  const json_object& a = r["against"];
  put(labelled("", with_error(a, "perplexity", "standard_error", 4) + "  " + a["model"].get<std::string>()) +
      labelled("mean KL", with_error(a, "mean_kl", "mean_kl_standard_error", 6)) +
      labelled("same top-1", fixed(100 * a["top1_agreement"].get<double>(), 2) + " %") +
      labelled("largest difference",
               fixed(a["largest_difference"].get<double>(), 4) + " of a probability, at token " +
                   a["largest_difference_at"].dump()));
}

}  // namespace

void perplexity(const perplexity_args& args) {
  const loaded_model model = load_model(args.model, needs::text, rows_at_once);
  const u32 length = model.engine->context(), stride = args.stride ? args.stride : std::max(1u, length / 2);
  if (stride >= length)
    throw Error(errc::usage, {}, "--stride", concat({"less than the context of ", length, " tokens"}),
                concat({stride}));
  const std::vector<u32> ids =
      model.tokens->encode(file_text(args.file), {.parse_special = false, .add_special = true});
  if (ids.size() < length)
    throw Error(errc::file, args.file, "text", concat({"at least one context, ", length, " tokens; see -c"}),
                concat({u64{ids.size()}}));
  std::optional<loaded_model> other;
  if (args.against) other = load_beside(*args.against, "--against", args.model, model, rows_at_once);

  const auto mine = model.engine->open(), reference = other ? other->engine->open() : nullptr;
  const u32 vocab = model.engine->vocab_size();
  average loss;
  comparison both;
  distribution own;
  std::vector<float> rows;
  const std::vector<window> windows = windows_of(ids.size(), length, stride);
  progress bar("scoring");
  for (const window& w : windows) {
    // The logits after the token before the first scored one are the first that count; the last token is not fed.
    const u64 first = w.scored - 1;
    for (any_session* s : {mine.get(), reference.get()})
      if (s) s->rewind(0), s->feed(std::span(ids).subspan(w.begin, first - w.begin));
    for (u64 at = first; at + 1 < w.end; at += rows_at_once) {
      bar.show(at, ids.size());
      const auto part = std::span(ids).subspan(at, std::min<u64>(rows_at_once, w.end - 1 - at));
      rows.resize(reference ? part.size() * vocab : 0);
      mine->feed_all(part, [&](u32 i, std::span<const float> row) {
        own.set(row);
        loss.add(-own.log_p(row[ids[at + i + 1]]));
        if (reference) std::ranges::copy(row, rows.begin() + static_cast<std::ptrdiff_t>(u64{i} * vocab));
      });
      if (!reference) continue;
      reference->feed_all(part, [&](u32 i, std::span<const float> row) {
        both.add(std::span<const float>(rows).subspan(u64{i} * vocab, vocab), row, ids[at + i + 1], at + i + 1);
      });
    }
  }
  bar.clear();

  json_object r{{"model", args.model.path}, {"model_type", model.name},  {"file", args.file}, {"tokens", ids.size()},
                {"scored", ids.size() - 1}, {"windows", windows.size()}, {"window", length},  {"stride", stride}};
  r.update(figures(loss));
  if (other) {
    json_object& a = r["against"] = {{"model", *args.against}, {"model_type", other->name}};
    a.update(figures(both.loss));
    a["mean_kl"] = both.kl.mean(), a["mean_kl_standard_error"] = both.kl.error();
    a["top1_agreement"] = both.same_best.mean();
    a["largest_difference"] = both.largest, a["largest_difference_at"] = both.largest_at;
  }
  if (args.json) put(r.dump(2, ' ', false, json_object::error_handler_t::replace) + '\n');
  else print(r);
}

}  // namespace cke::tool
