// SPDX-License-Identifier: MIT
// corpus.cpp: implements corpus.hpp.
#include "corpus.hpp"

#include <cke/io/json_value.hpp>
#include <cke/text/jinja/chat_form.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>

#include "commands.hpp"

namespace cke::tool {
namespace {

struct document {
  std::vector<u32> ids;
  std::vector<bool> learned;  // [ids]: whether the id is one to predict
};

document text_document(const tokenizer& tokens, std::string_view text) {
  document d{tokens.encode(text, {.add_special = true}), {}};
  const vocabulary& v = tokens.vocabulary();
  if (v.eos != no_token && (d.ids.empty() || d.ids.back() != v.eos)) d.ids.push_back(v.eos);
  d.learned.assign(d.ids.size(), true);
  return d;
}

// The ids that each of the assistant's answers adds to what came before it are learned.
document chat_document(const chat_form& form, const jinja::value& messages) {
  const auto rendered = [&](std::size_t count, bool asks) {
    const auto& all = messages.as_sequence()->items;
    jinja::conversation c{
        .messages = {jinja::form::list, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)}}};
    c.add_generation_prompt = asks;
    return form.encode(form.render(c));
  };
  const auto part = [&](std::size_t count, bool asks) -> std::optional<std::vector<u32>> {
    try {
      return rendered(count, asks);
    } catch (const Error&) { return std::nullopt; }  // the template refuses it
  };
  if (!messages.is_sequence(jinja::form::list))
    throw Error(errc::malformed, {}, "messages", "a list", jinja::type_name(messages));
  const std::size_t count = messages.as_sequence()->items.size();
  document d{rendered(count, false), {}};
  d.learned.assign(d.ids.size(), false);
  for (std::size_t i = 0; i < count; ++i) {
    const jinja::dict* const message = messages.as_sequence()->items[i].as_dict();
    const jinja::value* const role = message ? message->find("role") : nullptr;
    if (!role || !role->is_string())
      throw Error(errc::malformed, {}, "messages[" + std::to_string(i) + "]", "an object with a role", "another");
    if (role->view() != "assistant") continue;
    // A template may drop what it shows of an earlier answer, such as a thought: then that answer is not learned.
    // And it may refuse to end before the answer, such as where that is the first message.
    const auto before = part(i, true), after = part(i + 1, false);
    if (!before || !after || before->size() >= after->size() || after->size() > d.ids.size() ||
        !std::equal(before->begin(), before->end(), after->begin()) ||
        !std::equal(after->begin(), after->end(), d.ids.begin()))
      continue;
    for (std::size_t t = before->size(); t < after->size(); ++t) d.learned[t] = true;
  }
  return d;
}

document ids_document(const jinja::value& ids, const jinja::value* labels) {
  const auto numbers = [](const jinja::value& from, const char* key, i64 least) {
    const jinja::sequence* const list = from.as_sequence();
    if (!list) throw Error(errc::malformed, {}, key, "a list of ids", jinja::type_name(from));
    std::vector<i64> all;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const jinja::value& x = list->items[i];
      const bool fits = x.is_int() && x.as_int() < i64{CKE_NO_TARGET} && (x.as_int() >= 0 || x.as_int() == least);
      if (!fits)
        throw Error(errc::malformed, {}, concat({key, "[", i, "]"}), least < 0 ? "an id, or -100" : "an id",
                    x.is_int() ? std::to_string(x.as_int()) : jinja::type_name(x));
      all.push_back(x.as_int());
    }
    return all;
  };
  const std::vector<i64> list = numbers(ids, "ids", 0);
  document d{{list.begin(), list.end()}, std::vector<bool>(list.size(), true)};
  if (!labels) return d;
  const std::vector<i64> wanted = numbers(*labels, "labels", -100);
  if (wanted.size() != list.size())
    throw Error(errc::malformed, {}, "labels", std::to_string(list.size()) + ", as many as ids",
                std::to_string(wanted.size()));
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (wanted[i] != list[i] && wanted[i] != -100)
      throw Error(errc::malformed, {}, concat({"labels[", i, "]"}),
                  concat({u64(list[i]), ", which the id is, or -100"}), std::to_string(wanted[i]));
    d.learned[i] = wanted[i] != -100;
  }
  return d;
}

}  // namespace

corpus::corpus(const std::string& model, const std::vector<std::string>& files, u32 context) {
  std::optional<tokenizer> tokenizer_of_model;  // ids need none
  const auto tokens = [&]() -> const tokenizer& {
    if (!tokenizer_of_model) tokenizer_of_model.emplace(open_tokenizer(model));
    return *tokenizer_of_model;
  };
  std::optional<chat_form> form;
  for (const std::string& file : files) {
    const std::string text = file_text(file);
    if (!file.ends_with(".jsonl")) {
      const document d = text_document(tokens(), text);
      add(d.ids, d.learned, context);
      continue;
    }
    std::istringstream lines(text);
    u64 number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      const std::string where = file + ':' + std::to_string(number);
      const jinja::value from = read_json_value(line, where);
      const jinja::dict* const object = from.as_dict();
      const jinja::value *const said = object ? object->find("text") : nullptr,
                                *const messages = object ? object->find("messages") : nullptr,
                                *const ids = object ? object->find("ids") : nullptr;
      if (!(said && said->is_string()) && !messages && !ids)
        throw Error(errc::malformed, where, {}, "{\"text\": \"...\"}, {\"messages\": [...]} or {\"ids\": [...]}",
                    line.substr(0, 60));
      if (!ids) tokens();  // errors of the model are not the line's
      if (messages && !form) form.emplace(tokens(), model);
      try {
        const document d = messages ? chat_document(*form, *messages)
            : ids                   ? ids_document(*ids, object->find("labels"))
                                    : text_document(tokens(), said->view());
        for (const u32 id : d.ids)
          if (ids && (id >= largest_ || largest_from_.empty())) largest_ = id, largest_from_ = where;
        add(d.ids, d.learned, context);
      } catch (const Error& e) {
        throw Error(e.code == errc::usage ? errc::malformed : e.code, where, e.subject, e.expected, e.found);
      }
    }
  }
  if (all_.empty()) throw Error(errc::malformed, files.empty() ? "" : files[0], {}, "a text to learn", "none");
}

void corpus::add(const std::vector<u32>& ids, const std::vector<bool>& learned, u32 context) {
  for (std::size_t first = 0; first + 1 < ids.size(); first += context) {
    const std::size_t end = std::min(ids.size(), first + context);
    sequence s;
    bool any = false;
    for (std::size_t t = first; t < end; ++t) {
      const bool counts = t + 1 < ids.size() && learned[t + 1];
      s.ids.push_back(ids[t]), s.targets.push_back(counts ? ids[t + 1] : CKE_NO_TARGET);
      any |= counts;
    }
    if (any) all_.push_back(std::move(s));
  }
}

batch corpus::at(u64 number, u32 count, u64 seed) const {
  const u64 first = number * count;
  u64 round = ~u64{0};
  std::vector<u32> order(all_.size());
  batch b;
  for (u64 i = first; i < first + count; ++i) {
    if (i / all_.size() != round) {
      round = i / all_.size();
      std::iota(order.begin(), order.end(), 0u);
      std::mt19937_64 random(seed * 0x9e3779b97f4a7c15 + round);
      for (u64 k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random() % k]);
    }
    add_to(b, all_[order[i % all_.size()]]);
  }
  return b;
}
batch corpus::all() const {
  batch b;
  for (const sequence& s : all_) add_to(b, s);
  return b;
}
void corpus::add_to(batch& b, const sequence& s) {
  b.ids.push_back(s.ids), b.targets.push_back(s.targets);
  for (const u32 target : s.targets) b.labels += target != CKE_NO_TARGET;
  b.longest = std::max(b.longest, static_cast<u32>(s.ids.size()));
}

void corpus::check_ids(u32 vocab) const {
  if (largest_ >= vocab)
    throw Error(errc::token_range, largest_from_, "ids", "below " + std::to_string(vocab), std::to_string(largest_));
}

}  // namespace cke::tool
