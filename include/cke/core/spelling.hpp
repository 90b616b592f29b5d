// SPDX-License-Identifier: MIT
// spelling.hpp: the names of a config value or a tensor in files; the first name that a file has counts.
#pragma once

#include "types.hpp"

namespace cke {

// The part that is taken of the value or tensor under a name.
enum class taking : u8 {
  whole,
  // of a tensor
  rows,       // the rows of one role: a tensor keeps several roles, one after the other (of each expert)
  head_rows,  // ... or one after the other within each head
  // of a config's value
  element,  // one of a list
  count,    // how many elements a list has, or letters a word; a number is taken whole
  same,     // of a list with one number for each layer: the number that all layers have, zeros aside
  first,
  last,
  largest,    // of such a list: the largest number
  varies,     // whether the elements of such a list differ
  list,       // a list; a value that is not a list does not count
  numbers,    // a list with the numbers of layers
  per_layer,  // the member of this name of the first layer that `per_layer_config` lists, or else the config's own
  top,        // of a rope: a member of the config itself, not of the rope's object
};

// In a tensor's name "{}" stands for the layer, a second one for the expert; ".weight" or ".bias" follows unless it is
// the exact name, after an underscore where torch packs the matrices of an attention.
struct spelling {
  std::string_view text{};
  taking take = taking::whole;
  u32 index = 0;
  bool is_exact = false;
  char joined_by = '.';
  bool counts_taps = false;  // {} is the number of the layer among those with deepstack letters
  constexpr spelling() = default;
  constexpr spelling(const char* name) : text(name) {}
  constexpr spelling(const char* name, taking t, u32 i = 0) : text(name), take(t), index(i) {}
  constexpr bool operator==(const spelling&) const = default;

  constexpr bool is_part() const { return take == taking::rows || take == taking::head_rows; }
  constexpr bool in_tensor_of(const spelling& other) const {
    return text == other.text && is_exact == other.is_exact && joined_by == other.joined_by;
  }
};
constexpr spelling exact(const char* name) {
  spelling s(name);
  s.is_exact = true;
  return s;
}
constexpr spelling underscored(const char* name) {
  spelling s(name);
  s.joined_by = '_';
  return s;
}
constexpr spelling part(u32 number, spelling of) { return of.take = taking::rows, of.index = number, of; }
constexpr spelling head_part(u32 number, spelling of) { return of.take = taking::head_rows, of.index = number, of; }

constexpr spelling by_tap(const char* name) {
  spelling s(name);
  s.counts_taps = true;
  return s;
}

constexpr spelling element(u32 number, const char* list) { return {list, taking::element, number}; }
constexpr spelling count_of(const char* name) { return {name, taking::count}; }
constexpr spelling same_of(const char* name) { return {name, taking::same}; }
constexpr spelling first_of(const char* name) { return {name, taking::first}; }
constexpr spelling last_of(const char* name) { return {name, taking::last}; }
constexpr spelling largest_of(const char* name) { return {name, taking::largest}; }
constexpr spelling varies(const char* name) { return {name, taking::varies}; }
constexpr spelling list_of(const char* name) { return {name, taking::list}; }
constexpr spelling numbers_of(const char* name) { return {name, taking::numbers}; }
constexpr spelling per_layer(const char* name) { return {name, taking::per_layer}; }
constexpr spelling at_top(const char* name) { return {name, taking::top}; }

// The first name that a file has counts; none: this kind of file has no word for it.
struct spellings {
  static constexpr u32 most = 3;
  spelling any[most];
  // All are initialised: g++ 12 does not treat omitted ones as constants.
  constexpr spellings(spelling a = {}, spelling b = {}, spelling c = {}) : any{a, b, c} {}
  constexpr spellings(const char* name) : spellings(spelling(name)) {}
  constexpr bool operator==(const spellings&) const = default;
  constexpr u32 count() const {
    u32 n = 0;
    while (n < most && !any[n].text.empty()) ++n;
    return n;
  }
  constexpr bool none() const { return any[0].text.empty(); }
  constexpr const spelling& operator[](u32 i) const { return any[i]; }
  constexpr const spelling* begin() const { return any; }
  constexpr const spelling* end() const { return any + count(); }
};
constexpr spellings either(spelling a, spelling b, spelling c = {}) { return {a, b, c}; }

}  // namespace cke
