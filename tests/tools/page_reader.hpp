// SPDX-License-Identifier: MIT
// page_reader.hpp: reads the pages of cke report and cke bench, more strictly than a browser does.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace command {

// A reader of the HTML that cke writes, which is as strict as XML: it says what is wrong, or counts the elements.
struct page_reader {
  std::string wrong;
  std::vector<std::string> tags, ids, links;  // of all elements; "#..."
  std::string data;                           // in the script
  std::size_t unlabelled = 0, uncaptioned = 0;

  explicit page_reader(const std::string& html) { read(html); }
  std::ptrdiff_t count(const std::string& tag) const { return std::ranges::count(tags, tag); }

 private:
  void read(const std::string& html) {
    if (!html.starts_with("<!doctype html>")) wrong = "no doctype";
    std::vector<std::string> open;
    for (std::size_t at = 15; at < html.size() && wrong.empty();) {
      const std::size_t next = std::min(html.find('<', at), html.size());
      check_text(html.substr(at, next - at));
      if (next == html.size()) break;
      if (html.compare(next, 4, "<!--") == 0) {
        at = html.find("-->", next) + 3;
        continue;
      }
      const std::size_t end = html.find('>', next);
      if (end == html.npos) return fail("a tag without an end");
      std::string tag = html.substr(next + 1, end - next - 1);
      at = end + 1;
      if (tag.starts_with('/')) {
        if (open.empty() || open.back() != tag.substr(1)) return fail("</" + tag.substr(1) + "> ends nothing");
        open.pop_back();
        continue;
      }
      const bool empty = tag.ends_with('/');
      if (empty) tag.pop_back();
      const std::string name = tag.substr(0, tag.find(' '));
      check_attributes(name, tag.substr(name.size()));
      tags.push_back(name);
      if (name == "caption") --uncaptioned;
      if (name == "table") ++uncaptioned;
      if (name == "svg" && tag.find("aria-label=\"") == tag.npos) ++unlabelled;
      if (name == "script" || name == "style") {
        const std::size_t close = html.find("</" + name + ">", at);
        if (close == html.npos) return fail("no end of " + name);
        if (name == "script") data += html.substr(at, close - at);
        at = close + name.size() + 3;
        continue;
      }
      if (!empty) open.push_back(name);
    }
    if (wrong.empty() && !open.empty()) wrong = "<" + open.back() + "> has no end";
  }
  void fail(const std::string& what) { wrong = what; }
  void check_text(const std::string& text) {
    for (std::size_t at = 0; (at = text.find('&', at)) != text.npos; ++at) {
      const std::string name = text.substr(at, text.find(';', at) - at);
      if (!std::set<std::string>{"&amp", "&lt", "&gt", "&quot", "&#39"}.contains(name))
        fail("an & that is not escaped");
    }
    if (text.find('>') != text.npos) fail("a > that is not escaped: " + text);
  }
  void check_attributes(const std::string& tag, const std::string& all) {
    std::set<std::string> names;
    for (std::size_t at = all.find_first_not_of(" \n"); at < all.size(); at = all.find_first_not_of(" \n", at)) {
      const std::size_t equals = all.find("=\"", at), end = all.find('"', equals + 2);
      if (equals == all.npos || end == all.npos) return fail(tag + ": an attribute without quotes:" + all);
      const std::string name = all.substr(at, equals - at), value = all.substr(equals + 2, end - equals - 2);
      if (!names.insert(name).second) return fail(tag + ": twice " + name);
      if (name.starts_with("on")) return fail(tag + ": a script in " + name);
      check_text(value);
      if (name == "id" && std::ranges::find(ids, value) != ids.end()) return fail("twice the id " + value);
      if (name == "id") ids.push_back(value);
      if (name == "href" && tag == "a") links.push_back(value);
      at = end + 1;
    }
  }
};

inline page_reader checked(const std::string& html) {
  page_reader page(html);
  CHECK(page.wrong == "");
  return page;
}
inline std::string text_of(const std::string& html) {
  std::string out;
  bool in = false;
  for (const char c : html) {
    if (c == '<') in = true;
    else if (c == '>') in = false;
    else if (!in) out += c;
  }
  return out;
}

// A page that needs nothing else: no address, no script that runs, every link to a section that is there.
inline page_reader check_whole(const std::string& html) {
  const page_reader page = checked(html);
  for (const char* fetches : {"http://", "https://", "src=", "url(", "@import", "javascript:"})
    CHECK_MESSAGE(html.find(fetches) == html.npos, fetches);
  CHECK(page.count("script") == 1);
  CHECK(page.count("link") == 1);
  CHECK(html.find("<link rel=\"icon\" href=\"data:,\"/>") != html.npos);
  CHECK(html.find("content=\"default-src 'none';") != html.npos);
  CHECK(html.find("{{") == html.npos);
  CHECK(page.count("h1") == 1);
  for (const std::string& link : page.links) CHECK(std::ranges::count(page.ids, link.substr(1)) == 1);
  CHECK(page.unlabelled == 0);
  CHECK(page.uncaptioned == 0);
  CHECK(html.find("prefers-color-scheme: dark") != html.npos);
  CHECK(html.find("lang=\"en\"") != html.npos);
  return page;
}

}  // namespace command
