// SPDX-License-Identifier: MIT
// limits.cpp: no template hangs, overflows the stack or fills the memory; errors name the line.
#include <doctest/doctest.h>

#include <cke/io/json_value.hpp>
#include <cke/text/jinja/template.hpp>

using namespace cke;
using namespace cke::io;
using namespace cke::text;

namespace {

std::string error_of(const std::string& source, const jinja::limits& l = {}) {
  try {
    jinja::chat_template(source, "t.jinja", l).render({}, {});
  } catch (const Error& e) {
    CHECK(e.file == "t.jinja");
    return e.what();
  }
  return "no error";
}
std::string times(int n, const std::string& s) {
  std::string out;
  while (n-- > 0) out += s;
  return out;
}
void check_error(const std::string& source, const char* part) {
  const std::string got = error_of(source);
  CAPTURE(source.substr(0, 100));
  CAPTURE(got);
  CHECK(got.find(part) != got.npos);
}

}  // namespace

TEST_CASE("limits: work") {
  const std::string range = "range(100000)";
  check_error(times(3, "{% for i in " + range + " %}") + times(3, "{% endfor %}"), "steps");
  check_error("{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
              "steps");
  check_error("{{ (" + range + "|list) * 1000000000 }}", "steps");
  check_error("{{ [1]|batch(1000000000, 1)|list }}", "steps");
  for (const char* use : {"{{ s|list|length }}", "{{ s|first }}", "{{ s|reverse }}", "{% for c in s %}{% endfor %}"})
    check_error("{% set s = 'a' * 6000000 %}" + std::string(use), "steps");  // each character is an item
  check_error("{{ 3 ** 1000000 }}", "64 bits");
  CHECK(error_of("{{ range(100001) }}").find("100000 numbers") != std::string::npos);
}

TEST_CASE("limits: memory") {
  check_error("{{ 'a' * 10000000000 }}", "a string of more than");
  check_error("{{ '' * 9223372036854775807 }}", "no error");
  check_error("{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
              "bytes");
  check_error(
      "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s|replace('a', ns.s) %}{% endfor %}",
      "bytes");
  check_error("{% set a = 'x' * 60000000 %}{{ a }}{{ a }}", "a string of more than");
  CHECK(error_of("{% for i in range(99) %}{% set a = 'x' * 60000 %}{% endfor %}", {.bytes = 1 << 20})
            .find("bytes in all") != std::string::npos);
  check_error("{{ '%1000000000d' % 1 }}", "2^20");
  check_error("{{ 'a'.center(1000000000) }}{{ 'a'.ljust(9000000000000000000) }}", "a string of more than");
  check_error("{{ [1]|tojson(indent=1000000000) }}", "a string of more than");
  check_error("{{ 'a\\nb'|indent(1000000000) }}", "a string of more than");
  CHECK(error_of("0123456789", {.source = 9}).find("at most 9 bytes") != std::string::npos);
  CHECK(error_of("{{ 'abc' }}d", {.output = 3}).find("more than 3 bytes") != std::string::npos);
  CHECK(error_of("{{ 'abc' }}", {.output = 3}) == "no error");
}

TEST_CASE("limits: depth") {
  for (const auto& [open, close] : {std::pair{"(", ")"},
                                    {"[", "]"},
                                    {"{1:", "}"},
                                    {"not ", ""},
                                    {"-", ""},
                                    {"a(", ")"},
                                    {"a[", "]"},
                                    {"1 if ", " else 1"}})
    check_error("{{ " + times(50'000, open) + "1" + times(50'000, close) + " }}", "deeper than");
  for (const char* chain : {" + 1", ".a", "[0]", "()", "|upper", " - 1", " is none is none", " ** 2", " and 1"})
    CHECK(error_of("{{ 1" + times(50'000, chain) + " }}") != "no error");
  check_error(times(50'000, "{% if 1 %}"), "deeper than");
  check_error(times(50'000, "{% for i in x %}"), "deeper than");
  check_error("{% set " + times(50'000, "(") + "a" + times(50'000, ")") + " = 1 %}", "deeper than");
  check_error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion deeper than");
  check_error("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "recursion deeper than");
  const std::string deepen = "{% set ns = namespace(v=1) %}{% for i in range(5000) %}{% set ns.v = X %}{% endfor %}";
  for (const char* x :
       {"[ns.v]", "(ns.v,)", "{'a': ns.v}", "cycler(ns.v)", "joiner(ns.v)", "[ns.v].index", "dict(a=ns.v)",
        "ns.v|batch(2)|list if i else [1]", "[ns.v]|map('string') if false else [[ns.v]|batch(1)]"}) {
    std::string source = deepen;
    check_error(source.replace(source.find('X'), 1, x), "nest deeper");
  }
  check_error(
      "{% set ns = namespace(v=1) %}{% for i in range(300) %}{% for j in [ns.v] %}{% set ns.v = loop %}{% endfor %}{% "
      "endfor %}",
      "nest deeper");
}

TEST_CASE("limits: namespaces that hold each other are let go") {
  CHECK(error_of("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{% set a.l = [a, b] %}{% macro "
                 "m() %}{% endmacro %}{% set a.m = m %}") == "no error");
  CHECK(error_of(
            "{% set ns = namespace(p=1) %}{% for i in range(50000) %}{% set ns.p = namespace(p=ns.p) %}{% endfor %}") ==
        "no error");
}

TEST_CASE("limits: a loop that outlives its pass sees no more items") {
  for (const char* use : {"ns.l.last", "ns.l.length", "ns.l.revindex", "ns.l.nextitem", "ns.l|length", "ns.l.previtem"})
    for (const char* wanted : {"", " if x"})
      error_of("{% set ns = namespace(l=1) %}{% for x in [1, 2]" + std::string(wanted) +
               " %}{% set ns.l = loop %}{% endfor %}{{ " + use + " }}");
  CHECK(error_of("{% set ns = namespace(l=1) %}{% for x in [1] %}{% set ns.l = loop %}{% endfor %}"
                 "{{ 'a' + 1 if not ns.l.last or ns.l.length != 1 }}") == "no error");
  CHECK(error_of("{% for i in [1, 2] %}{{ loop.changed(loop) }}{% endfor %}") == "no error");
}

TEST_CASE("limits: splitting at white space is linear") {
  CHECK(error_of("{% set l = ('abcde ' * 20000).split() %}{{ 'a' + 1 if l|length != 20000 }}"
                 "{% set r = ('abcde ' * 20000).rsplit(None, 19999) %}{{ 'a' + 1 if r|length != 20000 }}") ==
        "no error");
}

TEST_CASE("limits: numbers that no integer of 64 bits holds") {
  for (const char* x :
       {"'%d' % 1e30", "'%d' % ('inf'|float)", "'{:d}'.format(1e30)", "'%d' % -1e30", "9223372036854775807|round(-1)"})
    check_error("{{ " + std::string(x) + " }}", "64 bits");
  CHECK(error_of("{{ 'a' + 1 if '%d' % 2.9 != '2' }}") == "no error");
}

TEST_CASE("errors: the file, the line and what is wrong") {
  CHECK(error_of("\n\n{{ x.y }}") == "t.jinja: chat template, line 3: 'x' is undefined");
  CHECK(error_of("{% if a %}\n{% else %}") == "t.jinja: chat template, line 2: expected {% endif %}, found the end");
  CHECK(error_of("a\n{{ 'b }}") == "t.jinja: chat template, line 2: the string does not end");
  CHECK(error_of("\n{# a\n\n") == "t.jinja: chat template, line 2: the comment does not end");
  CHECK(error_of("{{ 1 +\n }}") == "t.jinja: chat template, line 2: expected an expression, found }}");
  CHECK(error_of("{% include 'x' %}") ==
        "t.jinja: chat template, line 1: a tag that chat templates use expected, found include");
  CHECK(error_of("x\n{% macro m() %}\n{{ 1/0 }}{% endmacro %}\n{{ m() }}") ==
        "t.jinja: chat template, line 3: division by zero");
  CHECK(error_of("{{ 9223372036854775807 + 1 }}") ==
        "t.jinja: chat template, line 1: an integer of 64 bits expected, found a larger one");
  CHECK(error_of("{{ raise_exception('roles must alternate') }}") ==
        "t.jinja: chat template, line 1: the template refuses: roles must alternate");
}

TEST_CASE("errors: each has the code of its cause") {
  const auto code = [](const char* source) {
    try {
      jinja::chat_template(source).render({}, {});
    } catch (const Error& e) { return e.code; }
    return errc::file;
  };
  CHECK(code("{{ raise_exception('x') }}") == errc::usage);
  CHECK(code("{{ x.y }}") == errc::malformed);
  CHECK(code("{{ 1|nope }}") == errc::unsupported);
  CHECK(code("{{ 1 is nope }}") == errc::unsupported);
  CHECK(code("{% extends 'x' %}") == errc::unsupported);
  CHECK(code("{{ 2 ** 64 }}") == errc::unsupported);
}
