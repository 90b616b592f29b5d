// SPDX-License-Identifier: MIT
// corpus.hpp: text and chats as sequences to train on.
#pragma once

#include "batch_file.hpp"

namespace cke::tool {

// Documents, each cut into sequences of at most `context` ids; a sequence never has ids of two documents.
//   FILE.jsonl   a document on each line: {"text": "..."}; {"messages": [...]} in the model's chat form, of which the
//                assistant's answers alone are learned; or {"ids": [...], "labels": [...]}, of which those are learned
//                whose label is the id and not -100
//   other files  are one document each
class corpus {
 public:
  // `model`: whose tokenizer and chat form are used. Throws Error{file, malformed, unsupported}, which name the line.
  corpus(const std::string& model, const std::vector<std::string>& files, u32 context);

  // Batch `number`, from 0 on: `count` sequences, each once before any comes again, in an order that `seed` shuffles
  // anew each time.
  batch at(u64 number, u32 count, u64 seed) const;
  batch all() const;
  // Throws token_range, which names the line.
  void check_ids(u32 vocab) const;

 private:
  struct sequence {
    std::vector<u32> ids, targets;
  };
  void add(const std::vector<u32>& ids, const std::vector<bool>& learned, u32 context);
  static void add_to(batch& b, const sequence& s);

  std::vector<sequence> all_;
  u32 largest_ = 0;           // of the ids that a file gives as such
  std::string largest_from_;  // its line
};

}  // namespace cke::tool
