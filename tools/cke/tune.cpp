// SPDX-License-Identifier: MIT
// tune.cpp: cke tune: tries the knobs one after the other, and writes the profile of a model on this machine.
#include "tune_rule.hpp"

#include <chrono>
#include <filesystem>
#include <optional>

#include <cke/core/sha256.hpp>
#include <cke/io/new_file.hpp>
#include <cke/runtime/arena.hpp>

#include "baseline.hpp"
#include "bench.hpp"
#include "bench_table.hpp"
#include "cache.hpp"
#include "cache_directory.hpp"
#include "commands.hpp"
#include "library_model.hpp"
#include "model_hints.hpp"
#include "rank_group.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

using clock = std::chrono::steady_clock;

// A model with some hints, and a session to measure it with.
struct tuned_engine {
  cke::hints hints;
  std::shared_ptr<any_model> model;
  std::unique_ptr<any_session> session;
};

// The values of a knob that may be faster than the default's.
std::vector<u32> candidates_of(const knob& k, u32 threads, u32 prompt) {
  const auto below = [](std::initializer_list<u32> all, u32 end) {
    std::vector<u32> some;
    for (const u32 n : all)
      if (n > 0 && n < end && std::ranges::find(some, n) == some.end()) some.push_back(n);
    return some;
  };
  if (k.name == "prefillThreads") return below({threads - 1, threads / 2}, threads);
  if (k.name == "decodeThreads") return below({threads - 1, threads * 3 / 4, threads / 2, threads / 4, 1}, threads);
  if (k.name == "chunk") {
    std::vector<u32> sizes;
    for (const u32 n : {32u, 64u, 128u, 256u, 1024u, 2048u})
      if (std::min(n, prompt) != std::min(*default_hints.chunk, prompt)) sizes.push_back(n);
    return sizes;
  }
  if (k.name == "unitsPerClaim") return {2, 4, 8};
  if (k.words.size() == 2) return {1 - *k.read(default_hints)};
  if (k.name == "spins" && threads > 1) return {20, 200, 20000};
  return {};
}
// With one thread nothing waits, and there is nobody to share with.
bool matters(const knob& k, u32 threads) {
  return threads > 1 || k.name == "chunk" || k.name == "unitsPerClaim" || k.name == "hugePages";
}

class tuner {
 public:
  explicit tuner(const tune_args& args) : args_(args), end_(clock::now() + std::chrono::seconds(args.seconds)) {
    args_.model.context = args.prompt + args.generate;
    args_.model.hinted = default_hints;  // whatever a profile or a bundle says
    first_ = load_model(args_.model, needs::weights);
    is_for_ = target_here(first_.program, args_.model.threads);
    path_ = args.output ? *args.output : profile_path(cache_directory(), is_for_);
    if (!args.output) std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    new_file(path_, 0, new_file::existing::replaced);  // throws now rather than after minutes
    std::shared_ptr<any_model> engine = std::move(first_.engine);
    best_ = {default_hints, engine, engine->open()};
    ids_ = some_ids(args_.model.context, engine->vocab_size());
    right_ = logits_sum(best_);
  }

  void run() {
    const interrupt_guard ctrl_c;
    put(concat({"logits SHA-256 ", right_,
                "\n\n| knob | value | prompt | tokens | rounds | |\n"
                "| --- | --- | ---: | ---: | ---: | --- |\n"}));
    for (const knob& k : knobs) {
      if (stopped()) break;
      if (matters(k, threads())) try_knob(k);
    }
    if (!stopped() && best_.hints != default_hints) check_all();
    finish();
  }

 private:
  u32 threads() const { return best_.model->threads(); }
  bool stopped() const { return interrupt_guard::flag() || clock::now() > end_; }

  // ---- one knob

  // Tries its values against the best so far, of which the fastest that is kept becomes part.
  void try_knob(const knob& k) {
    std::optional<tuned_engine> winner;
    double least = 1;
    bool complete = true;
    for (const u32 value : candidates_of(k, threads(), args_.prompt)) {
      cke::hints with = best_.hints;
      k.write(with, value);
      const std::optional<std::vector<paired_times>> times = measure(with, k, value);
      if (!(complete = times.has_value())) break;
      if (times->empty()) continue;  // it may not be used
      double product = 1;
      for (const paired_times& t : *times) product *= t.median();
      if (is_kept(*times) && product < least) least = product, winner = std::move(last_);
    }
    if (winner) best_ = std::move(*winner);
    if (winner || complete) know(k);
  }
  // What the profile says of a knob is its value in the best hints.
  void know(const knob& k) { k.write(known_, *k.read(best_.hints)); }

  // A row of the table. Nothing: the time is up. Empty: the candidate may not be used.
  std::optional<std::vector<paired_times>> measure(const cke::hints& with, const knob& k, u32 value) {
    const std::string name = concat({"| ", k.name, " | ", k.text(value), " | "});
    const auto unused = [&](const char* why) {
      put(concat({name, "| | | ", why, " |\n"}));
      return std::vector<paired_times>{};
    };
    std::optional<tuned_engine> made = engine_with(with);
    if (!made) return unused("no memory for a second copy of the weights");
    last_ = std::move(*made);
    if (logits_sum(last_) != right_) return unused("other logits: not used");
    return rounds(name, k.in_prefill, k.in_decode);
  }

  std::optional<std::vector<paired_times>> rounds(const std::string& name, bool prefill, bool decode) {
    std::vector<paired_times> all(u32{prefill} + decode);
    std::vector<double> with, without;  // seconds of the tokens
    for (u32 round = 0; round < tune_rounds && !is_lost(all); ++round) {
      if (stopped()) return std::nullopt;
      pass_times mine, others;
      if (round % 2) mine = times_of(last_, prefill, decode), others = times_of(best_, prefill, decode);
      else others = times_of(best_, prefill, decode), mine = times_of(last_, prefill, decode);
      if (prefill) all.front().add(mine.prompt, others.prompt);
      if (decode) all.back().add(mine.tokens, others.tokens);
      with.push_back(mine.tokens), without.push_back(others.tokens);
    }
    if (decode) token_seconds_ = percentile(is_kept(all) ? with : without, 0.5) / args_.generate;
    const auto shown = [&](bool is, const paired_times& t) { return is ? fixed(t.median(), 3) : std::string(); };
    std::string faster;
    for (const paired_times& t : all)
      faster += concat({faster.empty() ? "" : ", ", t.faster(), "/", u64{t.ratios.size()}});
    put(concat({name, shown(prefill, all.front()), " | ", shown(decode, all.back()), " | ", faster,
                is_kept(all) ? " | faster |\n" : " | |\n"}));
    return all;
  }

  // The whole of what was kept, against the default.
  void check_all() {
    std::optional<tuned_engine> base = engine_with(default_hints);
    if (!base) return;
    last_ = std::exchange(best_, std::move(*base));
    const auto times = rounds("| all that is faster | | ", true, true);
    if (!times || is_kept(*times)) return best_ = std::move(last_), void();
    known_ = {};
    for (const knob& k : knobs) know(k);
  }

  // ---- engines and times

  // Over the same weights, unless their pages would be others. None: there is no memory for that.
  std::optional<tuned_engine> engine_with(const cke::hints& with) {
    std::shared_ptr<any_model> made;
    if (with.huge_pages == best_.hints.huge_pages) {
      std::span<const std::byte> weights;
      std::vector<u64> sizes;
      each_packed(*best_.model, [&](const std::string&, std::span<const std::byte> bytes) {
        weights = {weights.empty() ? bytes.data() : weights.data(), weights.size() + bytes.size()};
        sizes.push_back(bytes.size());
      });
      const cke_packed packed{weights.data(), weights.size(), sizes.data(), sizes.size(),
                              first_.door->cke_form_of_packed()};
      made = load_packed_model(first_.door, packed, args_.model.path, best_.model,
                               {.threads = args_.model.threads, .context = args_.model.context, .hints = with});
    } else {
      if (2 * best_.model->weight_bytes() > memory_limit() / 2) return std::nullopt;
      model_args again = args_.model;
      again.hinted = with;
      made = std::move(load_model(again, needs::weights).engine);
    }
    auto session = made->open();
    return tuned_engine{with, std::move(made), std::move(session)};
  }

  // Of the logits after a prompt and after each token that follows.
  std::string logits_sum(tuned_engine& e) const {
    sha256 sum;
    const auto add = [&] {
      const auto bytes = std::as_bytes(e.session->logits());
      sum.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    go_to(*e.session, 0);
    e.session->feed(prompt());
    add();
    for (const u32 id : rest()) e.session->feed(id), add();
    return sum.hex();
  }

  struct pass_times {
    double prompt = 0, tokens = 0;  // seconds
  };
  pass_times times_of(tuned_engine& e, bool prefill, bool decode) const {
    any_session& s = *e.session;
    pass_times t;
    const auto seconds_of = [](auto work) {
      const auto start = clock::now();
      work();
      return std::chrono::duration<double>(clock::now() - start).count();
    };
    if (prefill) go_to(s, 0), t.prompt = seconds_of([&] { s.feed(prompt()); });
    else go_to(s, args_.prompt);
    if (decode)
      t.tokens = seconds_of([&] {
        for (const u32 id : rest()) s.feed(id);
      });
    return t;
  }
  // Back to a position, recurrent states too.
  static void go_to(any_session& s, u32 position) {
    s.rewind(position);
    s.feed(std::span<const u32>{});
  }
  std::span<const u32> prompt() const { return std::span(ids_).first(args_.prompt); }
  std::span<const u32> rest() const { return std::span(ids_).subspan(args_.prompt); }

  // ---- the profile

  void finish() const {
    const char* const how = interrupt_guard::flag() ? "interrupted: " : stopped() ? "the time is up: " : "";
    if (known_ == cke::hints{}) return put(concat({"\n", how, "nothing is known yet, and no profile was written\n"}));
    hint_profile p;
    p.is_for = is_for_;
    p.name = concat({first_.name, " on ", p.is_for.cpu});
    p.model = first_.name;
    p.hints = known_;
    p.tuned_device = concat({p.is_for.cpu, ", ", best_.model->isa(), ", ", p.is_for.threads, " threads"});
    p.tokens_per_second = token_seconds_ > 0 ? 1 / token_seconds_ : 0;
    write_profile(path_, p);
    put(concat({"\n", how, "wrote ", path_, "\n"}));
  }

  tune_args args_;
  clock::time_point end_;
  loaded_model first_;  // its engine is that of the default hints
  hint_profile::target is_for_;
  std::string path_;  // of the profile
  std::vector<u32> ids_;
  std::string right_;  // the SHA-256 of the logits
  tuned_engine best_, last_;
  cke::hints known_;  // of the knobs that were tried
  double token_seconds_ = 0;
};

}  // namespace

void tune(const tune_args& args) {
  if (const rank_group* ranks = rank_group::of_this_run()) ranks->refuse("tune");
  tuner(args).run();
}

}  // namespace cke::tool
