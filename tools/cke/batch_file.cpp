// SPDX-License-Identifier: MIT
// batch_file.cpp: implements batch_file.hpp.
#include "batch_file.hpp"

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "json_text.hpp"

namespace cke::tool {
namespace {

// A list of a JSON file, and how to get there: "batches[1].labels".
class list_reader {
 public:
  list_reader(const std::string& file, std::string where) : file_(file), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& place, const char* wanted, const std::string& found) const {
    throw Error(errc::malformed, file_, where_ + place, wanted, found.substr(0, 60));
  }
  const nlohmann::json& member(const nlohmann::json& object, const char* key) const {
    if (!object.is_object()) fail("", "an object", shown(object));
    const auto at = object.find(key);
    if (at == object.end()) fail(where_.empty() ? key : std::string(".") + key, "a list", "none");
    if (!at->is_array()) fail(where_.empty() ? key : std::string(".") + key, "a list", shown(*at));
    return *at;
  }
  // Whole numbers from `least` on that fit 32 bits.
  std::vector<i64> numbers(const nlohmann::json& list, const std::string& place, i64 least) const {
    if (!list.is_array()) fail(place, "a list of ids", shown(list));
    std::vector<i64> out;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const nlohmann::json& x = list[i];
      const bool fits = x.is_number_integer() && x >= least && x < i64{no_id};
      if (!fits || (x < 0 && x != -100))
        fail(place + '[' + std::to_string(i) + ']', least < 0 ? "an id, or -100" : "an id", shown(x));
      out.push_back(x.get<i64>());
    }
    return out;
  }

 private:
  static constexpr u32 no_id = CKE_NO_TARGET;
  const std::string& file_;
  const std::string where_;
};

batch batch_of(const nlohmann::json& from, const std::string& file, const std::string& where) {
  const list_reader read(file, where);
  const nlohmann::json &all = read.member(from, "ids"), &labels = read.member(from, "labels");
  const std::string dot = where.empty() ? "" : ".";
  if (all.empty()) read.fail(dot + "ids", "at least one sequence", "none");
  if (all.size() != labels.size()) read.fail(dot + "labels", "as many lists as ids has", std::to_string(labels.size()));
  batch b;
  b.file = file, b.where = where + dot;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string at = '[' + std::to_string(i) + ']';
    const std::vector<i64> ids = read.numbers(all[i], dot + "ids" + at, 0),
                           wanted = read.numbers(labels[i], dot + "labels" + at, -100);
    if (ids.empty()) read.fail(dot + "ids" + at, "at least one id", "none");
    if (ids.size() != wanted.size())
      read.fail(dot + "labels" + at, "as many labels as ids", std::to_string(wanted.size()));
    b.ids.emplace_back(ids.begin(), ids.end());
    auto& targets = b.targets.emplace_back(ids.size(), CKE_NO_TARGET);
    for (std::size_t t = 0; t + 1 < ids.size(); ++t)
      if (wanted[t + 1] != -100) targets[t] = static_cast<u32>(wanted[t + 1]), ++b.labels;
    b.longest = std::max(b.longest, static_cast<u32>(ids.size()));
  }
  if (b.labels == 0) read.fail(dot + "labels", "one that is not ignored and not the first of its list", "none");
  return b;
}

nlohmann::json parsed(const std::string& path) {
  try {
    return nlohmann::json::parse(file_text(path));
  } catch (const nlohmann::json::exception& e) { throw Error(errc::malformed, path, {}, "JSON", e.what()); }
}

}  // namespace

std::vector<cke_example> batch::examples() const {
  std::vector<cke_example> all;
  for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i].data(), targets[i].data(), ids[i].size()});
  return all;
}

void batch::check_ids(u32 vocab) const {
  const auto check = [&](u32 id, const char* list, std::size_t i, std::size_t t) {
    if (id != CKE_NO_TARGET && id >= vocab)
      throw Error(errc::token_range, file, where + list + '[' + std::to_string(i) + "][" + std::to_string(t) + ']',
                  "an id below " + std::to_string(vocab), std::to_string(id));
  };
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (std::size_t t = 0; t < ids[i].size(); ++t)
      check(ids[i][t], "ids", i, t), check(targets[i][t], "labels", i, t + 1);
}

batch read_batch(const std::string& path) { return batch_of(parsed(path), path, ""); }

std::vector<batch> read_batches(const std::string& path) {
  const nlohmann::json from = parsed(path);
  const nlohmann::json& list = list_reader(path, "").member(from, "batches");
  std::vector<batch> all;
  for (std::size_t i = 0; i < list.size(); ++i)
    all.push_back(batch_of(list[i], path, "batches[" + std::to_string(i) + "]"));
  if (all.empty()) throw Error(errc::malformed, path, "batches", "at least one", "none");
  return all;
}

}  // namespace cke::tool
