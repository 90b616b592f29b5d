// SPDX-License-Identifier: MIT
// grammar_shelf.hpp: a cache of grammars with the tokens that each of their states allows; eviction is LRU.
#pragma once

#include <map>

#include "../text/grammar/grammar_filter.hpp"
#include "job.hpp"

namespace cke::serve {

// Belongs to the model's thread.
class grammar_shelf {
 public:
  explicit grammar_shelf(const tokenizer& tokens) : tokens_(tokens) {}

  // Null: any text is allowed.
  std::unique_ptr<token_filter> filter(const order& what) {
    if (!what.form.of) return nullptr;
    return std::make_unique<grammar_filter>(known(what.form), tokens_, what.stop_ids, what.form.place);
  }

 private:
  static constexpr std::size_t most = 16;
  struct entry {
    std::shared_ptr<const std::string> text;
    std::vector<u32> marks;
    std::shared_ptr<token_grammar> of;
  };

  // Entries are in order of use, the most recent last.
  std::shared_ptr<token_grammar> known(const wanted_grammar& w) {
    const auto at =
        std::ranges::find_if(entries_, [&](const entry& e) { return *e.text == *w.text && e.marks == w.marks; });
    entry e{w.text, w.marks, nullptr};
    if (at != entries_.end()) e = std::move(*at), entries_.erase(at);
    else if (entries_.size() == most) entries_.erase(entries_.begin());
    if (!e.of || e.of->full()) e.of = std::make_shared<token_grammar>(w.of, trie(w.marks));
    entries_.push_back(std::move(e));
    return entries_.back().of;
  }
  std::shared_ptr<const token_trie> trie(const std::vector<u32>& marks) {
    auto& t = tries_[marks];
    if (!t) t = std::make_shared<const token_trie>(tokens_, marks);
    return t;
  }

  const tokenizer& tokens_;
  std::vector<entry> entries_;
  std::map<std::vector<u32>, std::shared_ptr<const token_trie>> tries_;  // by marks: none, or those of calls
};

}  // namespace cke::serve
