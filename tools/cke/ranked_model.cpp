// SPDX-License-Identifier: MIT
// ranked_model.cpp: see ranked_model.hpp. Rank 0 sends what its sessions are asked to do, as numbers:
//   [verb, session, ...]      of feed: for each turn [session, what it wants, count, ids...]
#include "ranked_model.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include <cke/core/xxh64.hpp>
#include <cke/text/number_text.hpp>

#include "rooms.hpp"

namespace cke::tool {
namespace {

enum class verb : u32 { end, open, fork, free, feed, rewind, recall, slide };
enum wants : u32 { logits = 0, hidden = 1, each = 2 };

// ---- rank 0 -----------------------------------------------------------------------------------------

// Sends what a session does and does it, in one order on all ranks.
class speaker {
 public:
  speaker(rank_group& ranks, std::unique_ptr<any_model> model) : ranks_(ranks), model_(std::move(model)) {}
  ~speaker() {
    std::vector<u32> words{static_cast<u32>(verb::end)};
    ranks_.broadcast(words);
  }
  speaker(const speaker&) = delete;
  speaker& operator=(const speaker&) = delete;

  any_model& model() const { return *model_; }
  [[noreturn]] void refuse(const char* what) const { ranks_.refuse(what); }
  template <class Do> auto both(verb what, std::vector<u32> words, Do&& here) {
    const std::lock_guard turn(busy_);
    words.insert(words.begin(), static_cast<u32>(what));
    ranks_.broadcast(words);
    return here();
  }
  u32 new_number() { return next_.fetch_add(1); }

 private:
  rank_group& ranks_;
  std::unique_ptr<any_model> model_;
  std::mutex busy_;
  std::atomic<u32> next_ = 0;
};

class ranked_session final : public any_session {
 public:
  ranked_session(std::shared_ptr<speaker> all, u32 number, std::unique_ptr<any_session> here)
      : all_(std::move(all)), number_(number), here_(std::move(here)) {}
  ~ranked_session() override {
    all_->both(verb::free, {number_}, [&] { here_.reset(); });
  }

  using any_session::feed;
  void feed(std::span<const u32> ids) override {
    std::vector<u32> words;
    add_turn(words, ids, wants::logits);
    all_->both(verb::feed, std::move(words), [&] { here_->feed(ids); });
  }
  void feed_all(std::span<const u32> ids, const take_logits& take) override {
    std::vector<u32> words;
    add_turn(words, ids, wants::each);
    all_->both(verb::feed, std::move(words), [&] { here_->feed_all(ids, take); });
  }
  std::span<const float> logits() const override { return here_->logits(); }
  std::span<const u32> history() const override { return here_->history(); }
  u32 position() const override { return here_->position(); }
  u32 context() const override { return here_->context(); }
  void slide() override {
    all_->both(verb::slide, {number_}, [&] { here_->slide(); });
  }
  u32 rewind(u32 position) override {
    return all_->both(verb::rewind, {number_, position}, [&] { return here_->rewind(position); });
  }
  u32 recall(std::span<const u32> ids) override {
    std::vector<u32> words{number_};
    words.insert(words.end(), ids.begin(), ids.end());
    return all_->both(verb::recall, std::move(words), [&] { return here_->recall(ids); });
  }
  std::unique_ptr<any_session> fork() const override {
    const u32 number = all_->new_number();
    return all_->both(verb::fork, {number, number_},
                      [&] { return std::make_unique<ranked_session>(all_, number, here_->fork()); });
  }
  void save(const std::string&) const override { all_->refuse("session file"); }
  void load(const std::string&) override { all_->refuse("session file"); }

  void add_turn(std::vector<u32>& words, std::span<const u32> ids, wants what) const {
    words.insert(words.end(), {number_, what, static_cast<u32>(ids.size())});
    words.insert(words.end(), ids.begin(), ids.end());
  }
  any_session* here() const { return here_.get(); }

 private:
  std::shared_ptr<speaker> all_;
  u32 number_;
  std::unique_ptr<any_session> here_;
};

class ranked_model final : public any_model {
 public:
  ranked_model(rank_group& ranks, std::unique_ptr<any_model> model)
      : all_(std::make_shared<speaker>(ranks, std::move(model))) {}

  u32 vocab_size() const override { return model().vocab_size(); }
  u32 dim() const override { return model().dim(); }
  u32 context() const override { return model().context(); }
  u32 threads() const override { return model().threads(); }
  dtype kv() const override { return model().kv(); }
  std::string_view isa() const override { return model().isa(); }
  u64 parameters() const override { return model().parameters(); }
  u64 weight_bytes() const override { return model().weight_bytes(); }
  u64 activation_bytes() const override { return model().activation_bytes(); }
  u64 state_bytes() const override { return model().state_bytes(); }
  void watch(const tracer& t) const override { model().watch(t); }
  u32 image_width() const override { return 0; }
  held_image add_image(const image_key&, patch_grid, std::span<const float>, frame_time) const override {
    all_->refuse("image");
  }
  held_image find_image(const image_key&, patch_grid) const override { all_->refuse("image"); }

  std::unique_ptr<any_session> open() const override {
    const u32 number = all_->new_number();
    return all_->both(verb::open, {number},
                      [&] { return std::make_unique<ranked_session>(all_, number, model().open()); });
  }
  void feed_together(std::span<const turn> turns) override {
    std::vector<turn> here(turns.begin(), turns.end());
    std::vector<u32> words;
    for (turn& t : here) {
      const auto* const of = dynamic_cast<const ranked_session*>(t.of);
      if (!of) throw Error(errc::usage, {}, "turn", "a session of this model", "another");
      of->add_turn(words, t.ids, t.hidden ? wants::hidden : t.each ? wants::each : wants::logits);
      t.of = of->here();
    }
    all_->both(verb::feed, std::move(words), [&] { model().feed_together(here); });
  }

 private:
  any_model& model() const { return all_->model(); }

  std::shared_ptr<speaker> all_;
};

// ---- the other ranks --------------------------------------------------------------------------------

class listener {
 public:
  listener(rank_group& ranks, any_model& model) : ranks_(ranks), model_(model) {}

  // Until rank 0 ends.
  void work() {
    for (std::vector<u32> words;;) {
      ranks_.broadcast(words);
      if (words[0] == static_cast<u32>(verb::end)) return;
      try {
        obey(static_cast<verb>(words[0]), std::span(words).subspan(1));
      } catch (const Error& e) {
        // Rank 0 threw the same, if it follows from the ids and the sessions alone.
        if (e.code == errc::out_of_memory) ranks_.fail(e.what());
      } catch (const std::exception& e) { ranks_.fail(e.what()); }
    }
  }

 private:
  void obey(verb what, std::span<const u32> words) {
    switch (what) {
      case verb::open: sessions_[words[0]] = model_.open(); return;
      case verb::fork: sessions_[words[0]] = sessions_.at(words[1])->fork(); return;
      case verb::free: sessions_.erase(words[0]); return;
      case verb::rewind: sessions_.at(words[0])->rewind(words[1]); return;
      case verb::recall: sessions_.at(words[0])->recall(words.subspan(1)); return;
      case verb::slide: return sessions_.at(words[0])->slide();
      default: break;
    }
    const row_sink nobody{[](void*, u32, const float*) {}, nullptr};
    std::vector<turn> turns;
    while (!words.empty()) {
      const u32 wants = words[1], count = words[2];
      turns.push_back({sessions_.at(words[0]).get(), words.subspan(3, count)});
      if (wants == wants::hidden) turns.back().hidden = nobody;
      if (wants == wants::each) turns.back().each = nobody;
      words = words.subspan(3 + count);
    }
    model_.feed_together(turns);
  }

  rank_group& ranks_;
  any_model& model_;
  std::map<u32, std::unique_ptr<any_session>> sessions_;
};

// ---- the handshake ----------------------------------------------------------------------------------

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// Fields of a claim with a zero after each, so that ranks can send it.
std::string packed(std::initializer_list<std::string_view> fields) {
  std::string all;
  for (const std::string_view f : fields) (all += f) += '\0';
  return all;
}
std::vector<std::string> unpacked(const std::string& all) {
  std::vector<std::string> fields(1);
  for (const char c : all)
    if (c) fields.back() += c;
    else fields.emplace_back();
  fields.pop_back();
  return fields;
}

// Throws where a rank could not load its model, or claims something else than rank 0.
void compare(const std::vector<std::string>& claims) {
  static constexpr const char* names[]{"version of cke", "program", "instruction set", "weights"};
  const std::vector<std::string> first = unpacked(claims[0]);
  for (std::size_t r = 0; r < claims.size(); ++r) {
    const std::vector<std::string> claim = unpacked(claims[r]);
    const std::string whose = "rank " + std::to_string(r) + " on " + claim[0];
    if (!claim[1].empty()) throw Error(errc::config_mismatch, whose, {}, claim[1]);
    for (u32 i = 0; i < std::size(names); ++i)
      if (claim[2 + i] != first[2 + i])
        throw Error(errc::config_mismatch, whose, names[i], first[2 + i] + ", as rank 0 has", claim[2 + i]);
  }
}

}  // namespace

std::string weights_fingerprint(const checkpoint& from) {
  xxh64 sum;
  const auto add = [&](const void* data, std::size_t n) { sum.add({static_cast<const std::byte*>(data), n}); };
  for (const tensor_ref& t : from.tensors.tensors()) {
    add(t.name.data(), t.name.size());
    const auto type = static_cast<u32>(t.type);
    add(&type, sizeof type);
    add(t.shape.data(), t.shape.size() * sizeof(u64));
    const std::size_t piece = std::min<std::size_t>(4096, t.bytes.size());
    for (u32 i = 0; i < 3; ++i) sum.add(t.bytes.subspan((t.bytes.size() - piece) / 2 * i, piece));
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum.value()));
  return text;
}

loaded_model load_on_ranks(rank_group& ranks, const std::function<loaded_model(rank_claim&)>& load) {
  static bool taken = false;
  if (taken) ranks.refuse("a second model");
  taken = true;
  rank_claim claim;
  std::string failed;
  std::exception_ptr thrown;
  loaded_model m;
  try {
    m = load(claim);
  } catch (const std::exception& e) { failed = e.what(), thrown = std::current_exception(); }
  const std::vector<std::string> claims =
      ranks.gather(packed({host_name(), failed, claim.version, claim.program, claim.isa, claim.weights}));
  if (thrown && ranks.rank() == 0) std::rethrow_exception(thrown);
  try {
    compare(claims);
  } catch (const Error&) {
    if (ranks.rank() == 0) throw;
    std::exit(1);
  }
  if (ranks.rank() == 0) {
    m.engine = std::make_unique<ranked_model>(ranks, std::move(m.engine));
    return m;
  }
  listener(ranks, *m.engine).work();
  m.engine.reset();
  std::exit(0);
}

}  // namespace cke::tool
