// SPDX-License-Identifier: MIT
// read_config.cpp: reads configs as every family does, one a line, and prints what each member became or what is wrong.
//   in:   MODEL_TYPE, a tab, the config.json in one line
//   out:  {"members": {...}} or {"problem": {"key": ..., "found": ..., "wanted": ..., "other": ...}}
#include <cke_families.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "cke/models/config.hpp"

namespace {

using namespace cke;

std::string quoted(std::string_view text) {
  std::string all = "\"";
  for (const char c : text)
    if (c == '"' || c == '\\') all += '\\', all += c;
    else if (static_cast<unsigned char>(c) >= ' ') all += c;
  return all + '"';
}
std::string number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}
std::string truth(bool v) { return v ? "true" : "false"; }
std::string layers(const layer_set& set) {
  std::string all;
  for (u32 i = 0; i < layer_set::most; ++i)
    if (set.has(i)) all += (all.empty() ? "" : ", ") + std::to_string(i);
  return "[" + all + "]";
}
std::string rule(rope_scaling is) {
  for (const rule_word& w : rule_words)
    if (w.rule == is) return quoted(w.word);
  return "null";
}
std::string factors(const rope_factors* lists) {
  if (!lists) return "null";
  std::string all = "[[";
  for (u32 i = 0; i < lists->long_count; ++i) all += (i ? ", " : "") + number(lists->longs[i]);
  all += "], [";
  for (u32 i = 0; i < lists->short_count; ++i) all += (i ? ", " : "") + number(lists->shorts[i]);
  return all + "]]";
}

// Every member by the name that its key has; a family's keys bind all of them.
std::string members(const auto& keys, const auto& c) {
  std::string all;
  for (const auto& k : keys) {
    all += (all.empty() ? "" : ", ") + quoted(k.name) + ": ";
    if (k.number) all += std::to_string(c.*k.number);
    else if (k.real_number) all += number((c.*k.real_number).v);
    else if (k.flag) all += truth(c.*k.flag);
    else if (k.layers) all += layers(c.*k.layers);
    else if (k.rope) all += members(rope_keys, c.*k.rope);
    else if (k.pairs) all += quoted(c.*k.pairs == pairing::adjacent ? "adjacent" : "split");
    else if (k.axes) all += truth(c.*k.axes != rope_axes::sequence);
    else if (k.rule) all += rule(c.*k.rule);
    else if (k.factors) all += factors(c.*k.factors);
  }
  return "{" + all + "}";
}

template <class Family> std::string answer(std::string_view text) {
  rope_factors lists{};
  const auto [config, bad] = read_config<Family>(json{text}, naming::hf, &lists);
  if (bad.what == trouble::none) return "{\"members\": " + members(Family::keys, config) + "}";
  return "{\"problem\": {\"key\": " + quoted(bad.key) + ", \"found\": " + quoted(bad.found) +
      ", \"wanted\": " + quoted(bad.wanted) + ", \"other\": " + quoted(bad.other) + "}}";
}

template <class... Families> std::string answer(list<Families...>, std::string_view type, std::string_view text) {
  std::string said = "null";
  (void)((type == Families::name && (said = answer<Families>(text), true)) || ...);
  return said;
}

template <class... Families> void print_names(list<Families...>) {
  (std::cout << ... << (std::string(Families::name) + "\n"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--families") {
    print_names(families{});
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      std::cerr << "read_config: a line is MODEL_TYPE, a tab, a config\n";
      return 1;
    }
    std::cout << answer(families{}, std::string_view(line).substr(0, tab), std::string_view(line).substr(tab + 1))
              << '\n';
  }
}
