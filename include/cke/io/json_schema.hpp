// SPDX-License-Identifier: MIT
// json_schema.hpp: converts a JSON Schema into a grammar of the documents that it allows.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "../text/grammar/json_rules.hpp"
#include "../text/grammar/number_range.hpp"
#include "../text/grammar/regex.hpp"
#include "json_schema_reader.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// GBNF rules for one or more schemas, to be combined with others. They may allow less than the schema: unlisted
// properties only if additionalProperties mentions them, properties in the listed order, numbers of at most 16 digits.
class json_schema_rules : json_schema_reader {
 public:
  using json_schema_reader::json;
  // `file` is for messages.
  explicit json_schema_rules(const std::string& file) : json_schema_reader(file), rules_(file) {}

  // Returns a GBNF item that matches the schema's documents. `path` is for messages. `root`: the document that contains
  // the schema; it must outlive this object. Throws Error naming a keyword that a grammar cannot express.
  std::string item(const json& schema, const std::string& path) { return item(schema, path, schema); }
  std::string item(const json& schema, const std::string& path, const json& root) {
    root_ = &root;
    const std::size_t named = named_.size();
    const json_rules::state rules = rules_.now();
    try {
      return value(schema, path, 0);
    } catch (...) {  // of a schema that is refused nothing stays: the caller may go on without it
      for (; named_.size() > named; named_.pop_back()) references_.erase(named_.back());
      rules_.back_to(rules);
      throw;
    }
  }
  // The rule for white space, which may separate any two parts of a document.
  std::string blank() { return rules_.shared("ws"); }
  const std::string& rules() const { return rules_.text(); }

 private:
  static constexpr u32 max_depth = 64;

  // ---- schemas --------------------------------------------------------------------------------------
  // Returns an expression that is a single GBNF item.
  std::string value(const json& s, const std::string& path, u32 depth) {
    if (depth > max_depth) refuse(path, "at most 64 schemas in each other", "more");
    if (s.is_boolean()) {
      if (!s.get<bool>()) refuse(path, "a schema that something fits", "false");
      return rules_.shared("value");
    }
    if (!s.is_object()) throw Error(errc::malformed, file_, path, "a schema: an object, true or false", s.dump());
    need_known(s, path);
    if (const json* r = find(s, "$ref")) {
      if (s.contains("type") && !within(target(*r, path), s, path))
        refuse(path + ".type", "none beside $ref, or one that what it refers to is within", s["type"].dump());
      return reference(*r, path, depth);
    }
    if (const json* c = find(s, "const")) return constants(json::array({*c}), s, path);
    if (const json* e = find(s, "enum")) return constants(*e, s, path);
    for (const char* key : {"anyOf", "oneOf", "allOf"})
      if (const json* list = find(s, key)) return combined(*list, s, key, path + '.' + key, depth);
    std::vector<std::string> all;
    for (const std::string& type : types(s, path)) all.push_back(typed(type, s, path, depth));
    return gbnf::either(all);
  }
  std::string typed(const std::string& type, const json& s, const std::string& path, u32 depth) {
    if (type == "any") return rules_.shared("value");
    if (type == "null") return "\"null\"";
    if (type == "boolean") return R"(("true" | "false"))";
    if (type == "integer" || type == "number") return number(s, path, type == "integer");
    if (type == "string") return text(s, path);
    if (type == "array") return array(s, path, depth);
    if (type == "object") return object(s, path, depth);
    throw Error(errc::malformed, file_, path + ".type", "object, array, string, number, integer, boolean or null",
                type);
  }

  std::string reference(const json& ref, const std::string& path, u32 depth) {
    const json& to = target(ref, path);
    const auto [entry, fresh] = references_.try_emplace(&to);
    if (fresh) named_.push_back(&to);
    if (!fresh) return entry->second;
    const std::string name = entry->second = "d" + std::to_string(references_.size());
    rules_.define(name, value(to, ref.get<std::string>(), depth + 1));
    return name;
  }
  std::string constants(const json& list, const json& s, const std::string& path) {
    if (!list.is_array() || list.empty())
      throw Error(errc::malformed, file_, path + ".enum", "a list of values", list.dump());
    std::vector<std::string> all;
    for (const json& v : list)
      if (keeps(v, s, path) && (!s.contains("type") || std::ranges::any_of(types(s, path), [&](const std::string& t) {
            return has_type(v, t);
          })))
        all.push_back(gbnf::literal(v.dump(-1, ' ', false, json::error_handler_t::replace)));
    if (all.empty()) refuse(path, "a value of its type and limits among those it lists", "none");
    return gbnf::either(all);
  }
  std::string combined(const json& list, const json& s, const std::string& key, const std::string& path, u32 depth) {
    if (!list.is_array() || list.empty()) throw Error(errc::malformed, file_, path, "a list of schemas", list.dump());
    if (key == "allOf" && list.size() > 1) refuse(path, "one schema in allOf", std::to_string(list.size()));
    if (key == "oneOf")
      for (std::size_t i = 0; i < list.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (!apart(list[i], list[j], path, 0))
            refuse(path,
                   "schemas that no document fits two of: by their types, or a required property of different values",
                   std::to_string(j) + " and " + std::to_string(i));
    std::vector<std::string> all;
    for (const json& one : list) {
      const std::string at = path + '[' + std::to_string(all.size()) + ']';
      all.push_back(value(narrowed(one, s, at), at, depth + 1));
    }
    return gbnf::either(all);
  }
  // ---- strings and numbers --------------------------------------------------------------------------
  std::string text(const json& s, const std::string& path) {
    const u32 least = count(s, "minLength", path, 0), most = count(s, "maxLength", path, ~u32{0});
    if (most < least) refuse(path, "a maxLength not below minLength", std::to_string(most));
    const bool bounded = s.contains("minLength") || s.contains("maxLength");
    if (const json* p = find(s, "pattern")) {
      if (bounded) refuse(path, "a pattern or bounds of the length", "both");
      if (!p->is_string()) throw Error(errc::malformed, file_, path + ".pattern", "a text", p->dump());
      return rules_.add(R"("\"" )" + regex_gbnf(p->get_ref<const std::string&>(), file_, path + ".pattern") +
                        R"( "\"")");
    }
    if (bounded) {
      std::string times = '{' + std::to_string(least) + ',';
      if (most != ~u32{0}) times += std::to_string(most);
      return rules_.add(R"("\"" )" + rules_.shared("char") + times + R"(} "\"")");
    }
    // JSON Schema treats other formats as annotations.
    const json* f = find(s, "format");
    const std::string format = f && f->is_string() ? f->get<std::string>() : std::string();
    if (format == "date" || format == "time" || format == "uuid")
      return rules_.add(R"("\"" )" + rules_.shared(format) + R"( "\"")");
    if (format == "date-time")
      return rules_.add(R"("\"" )" + rules_.shared("date") + R"( "T" )" + rules_.shared("time") + R"( "\"")");
    if (format == "ipv4") return rules_.add(R"("\"" )" + rules_.shared("octet") + R"( ("." octet){3} "\"")");
    return rules_.shared("string");
  }
  std::string number(const json& s, const std::string& path, bool whole) {
    number_range range;
    const auto bound = [&](const char* key, bool exclusive, std::optional<i64>& to, bool& excluded, bool upper) {
      const json* v = find(s, key);
      if (!v) return;
      const double x = v->is_number() ? v->get<double>() : INFINITY;
      if (std::abs(x) > 1e15 || (std::floor(x) != x && !whole))
        refuse(path + '.' + key, "a whole number of at most 15 digits", v->dump());
      const auto n = static_cast<i64>(upper ? std::floor(x) : std::ceil(x));
      const bool out = exclusive && std::floor(x) == x;
      if (to && (upper ? *to < n || (*to == n && excluded) : *to > n || (*to == n && excluded))) return;
      to = n, excluded = out;
    };
    bound("minimum", false, range.least, range.above, false),
        bound("exclusiveMinimum", true, range.least, range.above, false);
    bound("maximum", false, range.most, range.below, true),
        bound("exclusiveMaximum", true, range.most, range.below, true);
    if (!range.least && !range.most) return rules_.shared(whole ? "integer" : "number");
    const std::string expression = whole ? integers_within(range) : numbers_within(range);
    if (expression.empty()) refuse(path, "bounds that some number is within", s.dump());
    return rules_.add(expression);
  }

  // ---- arrays and objects ---------------------------------------------------------------------------
  std::string array(const json& s, const std::string& path, u32 depth) {
    rules_.shared("ws");
    const json none = json::array();
    const json* prefix = find(s, "prefixItems");
    if (!prefix) prefix = &none;
    if (!prefix->is_array())
      throw Error(errc::malformed, file_, path + ".prefixItems", "a list of schemas", prefix->dump());
    u32 least = count(s, "minItems", path, 0), most = count(s, "maxItems", path, ~u32{0});
    const json* items = find(s, "items");
    if (items && *items == false) most = std::min(most, static_cast<u32>(prefix->size()));
    if (most < least) refuse(path, "a maxItems not below minItems", std::to_string(most));
    std::vector<std::string> first;
    for (const json& one : *prefix)
      first.push_back(value(one, path + ".prefixItems[" + std::to_string(first.size()) + ']', depth + 1));
    std::string other;
    if (most > first.size()) other = items ? value(*items, path + ".items", depth + 1) : rules_.shared("value");
    // From the last item to the first: `rest` is what may follow the items so far.
    std::string rest;
    const auto n = static_cast<u32>(first.size());
    if (!other.empty()) {
      const u32 more = least > n ? least - n : 0;
      const std::string times =
          '{' + std::to_string(more) + ',' + (most == ~u32{0} ? "" : std::to_string(most - n)) + '}';
      if (n > 0) rest = R"(("," ws )" + other + " ws)" + times;
      else if (most > 0) {
        const std::string after = '{' + std::to_string(more > 0 ? more - 1 : 0) + ',' +
            (most == ~u32{0} ? "" : std::to_string(most - 1)) + '}';
        rest = '(' + other + R"( ws ("," ws )" + other + " ws)" + after + ')' + (more > 0 ? "" : "?");
      }
    }
    for (u32 i = std::min(n, most); i-- > 0;) {
      const std::string here = (i > 0 ? R"("," ws )" : "") + first[i] + " ws" + (rest.empty() ? "" : ' ' + rest);
      rest = i < least ? here : rules_.add(here) + '?';
    }
    return rules_.add(R"("[" ws )" + (rest.empty() ? "" : rest + ' ') + R"("]")");
  }

  std::string object(const json& s, const std::string& path, u32 depth) {
    rules_.shared("ws");
    const json none = json::object();
    const json* properties = find(s, "properties");
    if (!properties) properties = &none;
    if (!properties->is_object())
      throw Error(errc::malformed, file_, path + ".properties", "schemas by name", properties->dump());
    const json* others = find(s, "additionalProperties");
    std::vector<std::pair<std::string, bool>> members;  // expression, required
    std::set<std::string> names, needed_names;
    const auto add = [&](const std::string& name, const json& schema, const std::string& at, bool needed) {
      const std::string key = gbnf::literal(json(name).dump(-1, ' ', false, json::error_handler_t::replace));
      members.emplace_back(key + R"( ":" ws )" + value(schema, at, depth + 1) + " ws", needed);
      names.insert(name);
    };
    const json any = true, no_names = json::array();
    const json& other_schema = others ? *others : any;
    const std::string other_path = path + ".additionalProperties";
    const json* list = find(s, "required");
    if (!list) list = &no_names;
    if (!list->is_array() || std::ranges::any_of(*list, [](const json& name) { return !name.is_string(); }))
      throw Error(errc::malformed, file_, path + ".required", "a list of names", list->dump());
    for (const json& name : *list) needed_names.insert(name.get_ref<const std::string&>());
    for (const auto& [name, schema] : properties->items())
      add(name, schema, path + ".properties." + name, needed_names.contains(name));
    for (const json& one : *list) {
      const auto& name = one.get_ref<const std::string&>();
      if (names.contains(name)) continue;
      if (others && *others == false) refuse(path + ".required", "names of properties", "'" + name + "'");
      add(name, other_schema, other_path, true);
    }
    // If properties are listed, others are allowed only if the schema mentions them.
    std::string tail_first, tail_more;
    if (others ? *others != false : properties->empty()) {
      const std::string other = rules_.add(other_name({names.begin(), names.end()}, other_path) + R"( ":" ws )" +
                                           value(other_schema, other_path, depth + 1) + " ws");
      tail_more = rules_.add(R"(("," ws )" + other + ")*");
      tail_first = '(' + other + ' ' + tail_more + ")?";
    }
    // From the last member to the first: what may follow if no member came before, and if one did.
    for (std::size_t i = members.size(); i-- > 0;) {
      const auto& [member, needed] = members[i];
      const std::string after = tail_more.empty() ? "" : ' ' + tail_more;
      const std::string first = member + after, more = R"("," ws )" + member + after;
      const auto skipped = [](const std::string& tail) { return " | " + (tail.empty() ? "\"\"" : tail); };
      const std::string next_first = needed ? first : first + skipped(tail_first);
      tail_more = rules_.add(needed ? more : more + skipped(tail_more));
      tail_first = i == 0 ? '(' + next_first + ')' : rules_.add(next_first);
    }
    return rules_.add(R"("{" ws )" + (tail_first.empty() ? "" : tail_first + ' ') + R"("}")");
  }
  // A key that is none of `names`: it differs at some character, or is a proper prefix or an extension of a name.
  std::string other_name(const std::vector<std::string_view>& names, const std::string& path) {
    if (names.empty()) return rules_.shared("string");
    constexpr std::size_t longest = 1024;  // unlike() goes down a level for each letter
    for (const std::string_view name : names)
      if (name.size() > longest)
        refuse(path, concat({"names of at most ", u64{longest}, " bytes where there may be others"}),
               concat({u64{name.size()}}));
    return R"("\"" )" + unlike(names) + R"( "\"")";
  }
  std::string unlike(const std::vector<std::string_view>& names) {
    std::map<u32, std::vector<std::string_view>> by_first;
    bool is_name = false;
    for (const std::string_view name : names) {
      if (name.empty()) is_name = true;
      else if (const code_point c = code_point_at(name, 0); c.value < stray_byte)
        by_first[c.value].push_back(name.substr(c.size));
    }
    std::vector<code_range> taken = gbnf::json_specials;  // no escapes either: they could spell a name
    for (const auto& [c, rest] : by_first) taken.push_back({c, c});
    const std::vector<code_range> specials = sorted_ranges(gbnf::json_specials, true);
    std::string all = gbnf::any_of(sorted_ranges(taken, true)) + ' ' + gbnf::any_of(specials) + '*';
    for (const auto& [c, rest] : by_first) {
      std::string letter;
      append_utf8(letter, c);
      if (!std::ranges::any_of(gbnf::json_specials,
                               [&, at = c](code_range r) { return r.first <= at && at <= r.last; }))
        all += " | " + gbnf::literal(letter) + ' ' + unlike(rest);
    }
    return rules_.add(is_name ? all : all + " | \"\"");
  }

  json_rules rules_;
  std::map<const json*, std::string> references_;
  std::vector<const json*> named_;  // these, the latest last
};

// Returns the grammar of one schema's documents.
inline std::string json_schema_gbnf(const nlohmann::ordered_json& schema, const std::string& file) {
  json_schema_rules rules(file);
  const std::string root = rules.item(schema, "schema");
  return concat({"root ::= ", root, "\n", rules.rules()});
}

}  // namespace cke::io
CKE_COLD_END
