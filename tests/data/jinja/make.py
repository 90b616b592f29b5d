# SPDX-License-Identifier: MIT
"""Writes cases.json: templates rendered by jinja2 with transformers' settings.

    python make.py        (needs transformers and jinja2)

A case has a template, the variables it sees, and the text, or "error": true where jinja2 refuses.
"""
import datetime
import json
from pathlib import Path

import transformers.utils.chat_template_utils as hf

HERE = Path(__file__).parent


class Noon(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26, 12, 5, 9)


hf.datetime = Noon

NAMES = {
    "s": "Hello, Wörld", "e": "", "sp": " \t pad \u3000\n", "lines": "one\n\n  two\nthree", "n": 7, "neg": -3, "z": 0, "x": 2.5,
    "t": True, "f": False, "none_": None, "l": [3, 1, 2], "mixed": [1, "a", None, True, 1.5, [2], {"k": "v"}],
    "d": {"b": 2, "a": 1, "C": 3, "items": "mine"}, "empty": [], "ed": {},
    "people": [{"name": "Bob", "age": 30, "tags": ["x"]}, {"name": "alice", "age": 25, "tags": []},
               {"name": "Bob", "age": 41}],
    "quote": "it's \"x\"\\ \t\n\x7f", "html": "<b> & 'c' \"d\"", "num": "42", "real": " 1_0.5e1 ", "bad": "4x",
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}],
}

# Between bars, an expression each.
EXPRESSIONS = r"""
1 + 2 * 3 - 4 / 2 ¦ -7 // 2 ¦ -7 % 3 ¦ 7 % -3 ¦ 7.5 // 2 ¦ -7.5 % 2 ¦ 2 ** 10 ¦ 2 ** -1 ¦ 2 ** 0.5 ¦ (-8) ** 2 ¦ -2 ** 2 ¦ 1 / 3 ¦ 10 / 2
1e20 ¦ 1e16 ¦ 1e15
123456789012345678 ¦ 0.1 + 0.2 ¦ 1e-5 ¦ 0.0001 ¦ 1.0 ¦ 100.0 ¦ 1_000 ¦ 0x1F ¦ 0b101 ¦ 0o17 ¦ true + 1 ¦ none ¦ None ¦ True ¦ 1.5e300 * 10
-0.0 ¦ 3 * 'ab' ¦ 'ab' * -1
[1] + [2, 3] ¦ (1, 2) + (3,) ¦ [0] * 3 ¦ (1,) ¦ () ¦ [] ¦ {} ¦ {'a': 1, 'b': [none, true]} ¦ {1: 2, true: 3} ¦ 'a' 'b' "c"
'a' ~ 1 ~ none ~ 2.0 ~ [1, 'x']
1 < 2 < 3 ¦ 1 < 3 < 2 ¦ 1 == 1.0 == true ¦ 'a' < 'b' ¦ [1, 2] < [1, 3] ¦ (1, 2) == [1, 2] ¦ '1' == 1 ¦ none == undefined_
undefined_ == undefined2_
1 in l ¦ 4 not in l ¦ 'ell' in s ¦ 'b' in d ¦ 2 in d ¦ '' in e ¦ none in mixed ¦ not 1 in l ¦ not not e ¦ 'a' in none_
t and f ¦ t or f ¦ e or 'x' ¦ e and 'x' ¦ 0 or none_ ¦ 1 and 2 ¦ not t ¦ undefined_ or 3
s[0] ¦ s[-1] ¦ s[7:] ¦ s[:5] ¦ s[::-1] ¦ s[1:10:3] ¦ s[-3:] ¦ s[100:] ¦ s[5:2] ¦ s[::0] ¦ s[20] ¦ l[0] ¦ l[-1] ¦ l[5] ¦ l[1:] ¦ l[::-1]
l[-2:] ¦ (1, 2, 3)[1:] ¦ 'äöü'[1] ¦ s['upper']()
d.a ¦ d['a'] ¦ d['items'] ¦ d.items() ¦ d.items() ¦ d.keys() ¦ d.values() ¦ d.get('a') ¦ d.get('q') ¦ d.get('q', 5) ¦ d.missing ¦ d['missing'] ¦ d.missing.more
none_.x ¦ none_['x'] ¦ none_[0] ¦ none_[1:] ¦ undefined_ ¦ undefined_.x ¦ undefined_[0] ¦ undefined_ + 1 ¦ undefined_() ¦ undefined_ ~ 'x'
1 + 'a' ¦ 'a' + 1 ¦ [] + () ¦ -'a'
people[0].name ¦ people[0]['tags'][0] ¦ people.0.age ¦ people[5].name ¦ people[0].tags.0
'%s and %d, %5.2f, %-4s|%04d|%x|%%|%r' % ('a', 3, 3.14159, 'b', 7, 255, 'q') ¦ '%s' % 'one' ¦ '%s %s' % 'one' ¦ '%s' % (1, 2) ¦ '%d' % 'a'
'%s' % none ¦ '%(a)s' % d ¦ '%+d % d' % (3, 4) ¦ '%5s|' % 'ab' ¦ '%05d' % -42 ¦ '%e' % 12345.678 ¦ '%g' % 0.00001234 ¦ '%.3s' % 'abcdef'
'{} {}'.format(1, 'a') ¦ '{0} {1} {0}'.format('x', 2) ¦ '{a}-{b}'.format(a=1, b='z') ¦ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd')
'{:05d} {:.2f} {:,} {:x} {:+d}'.format(42, 3.14159, 1234567, 255, 5) ¦ '{{}}{}'.format(1) ¦ '{}'.format() ¦ '{!r}'.format('a')
'{:5}|'.format(3) ¦ '{:.1%}'.format(0.256) ¦ '{:s}'.format('a') ¦ '{:d}'.format('a') ¦ '{:>4}'.format(none_)
s.upper() ¦ s.lower() ¦ s.title() ¦ s.capitalize() ¦ 'ǆ ß ŉ İ ΑΣ Σ'.upper() ¦ 'ǆ ß İ ΑΣ Σ ΑΣΑ'.lower()
'ǆ ß straße don\'t x1y'.title() ¦ 'ßx'.capitalize() ¦ sp.strip() ¦ sp.lstrip() ¦ sp.rstrip() ¦ 'xxaxx'.strip('x') ¦ 'abcäba'.strip('abä') ¦ 'abc'.lstrip('ba') ¦ 'abc'.rstrip('cb') ¦ 'x'.strip(1)
'a,b,,c'.split(',') ¦ 'a,b,,c'.split(',', 1) ¦ 'a,b,,c'.rsplit(',', 1) ¦ ' a  b c '.split() ¦ ' a  b c '.split(none, 1)
' a  b c '.rsplit(none, 1) ¦ 'a'.split('') ¦ ''.split() ¦ ''.split(',') ¦ 'abc'.split('abc') ¦ lines.splitlines() ¦ lines.splitlines(true)
'a\r\nb\rc\x0bd'.splitlines() ¦ 'a\n'.splitlines() ¦ 'a=b=c'.partition('=') ¦ 'a=b=c'.rpartition('=') ¦ 'abc'.partition('x')
'abc'.rpartition('x')
s.startswith('Hell') ¦ s.startswith(('x', 'H')) ¦ s.endswith('d') ¦ s.endswith('x') ¦ s.startswith('W', 7) ¦ s.find('l') ¦ s.find('zz')
s.rfind('l') ¦ s.index('ö') ¦ s.index('zz') ¦ s.count('l') ¦ s.count('') ¦ s.find('l', 4) ¦ s.find('', 50) ¦ s.startswith('', 50)
s.replace('l', 'L') ¦ s.replace('l', 'L', 1) ¦ 'aaa'.replace('', '-') ¦ 'äb'.replace('', '-', 2) ¦ 'aaaa'.replace('aa', 'b')
s.removeprefix('Hello') ¦ s.removesuffix('rld')
'5'.zfill(3) ¦ '-5'.zfill(4) ¦ 'ab'.ljust(4) ~ '.' ¦ 'ab'.rjust(4, '*') ¦ 'ab'.center(5) ~ '.' ¦ 'ab'.center(7, '*') ¦ 'abc'.center(6, '*')
', '.join(['a', 'b']) ¦ ', '.join([1]) ¦ '-'.join('äbc') ¦ '12'.isdigit() ¦ '1a'.isalnum() ¦ ''.isalpha() ¦ 'äb'.isalpha() ¦ ' \t'.isspace()
'AB1'.isupper() ¦ 'ab1'.islower() ¦ '1'.islower() ¦ s.nope() ¦ s.nope ¦ l.append(1) ¦ l.index(2) ¦ l.count(3)
l.index(9) ¦ d.pop('a') ¦ d.update({}) ¦ d.copy()
l|sort ¦ l|sort(reverse=true) ¦ people|map(attribute='name')|list ¦ people|map(attribute='tags', default='?')|list
people|selectattr('age', '>', 26)|map(attribute='name')|join(', ') ¦ people|rejectattr('tags')|list|length
people|selectattr('tags', 'defined')|list|length ¦ people|sort(attribute='age')|map(attribute='age')|join('-')
people|sort(attribute='name,age')|map(attribute='age')|join('-') ¦ people|groupby('name')|map('first')|list
people|unique(attribute='name')|list|length ¦ people|sum(attribute='age') ¦ people|join('|', attribute='name')
l|map('string')|join ¦ ['a', 'B']|map('upper')|list ¦ l|select('odd')|list ¦ l|reject('odd')|list ¦ l|select|list ¦ [0, 1, '', 'a']|select|list
l|first ¦ l|last ¦ empty|first ¦ empty|last ¦ s|first ¦ s|last ¦ d|first ¦ l|min ¦ l|max ¦ empty|min ¦ ['b', 'A']|min ¦ ['b', 'A']|max ¦ l|sum
l|reverse|list ¦ s|reverse ¦ l|length ¦ s|length ¦ d|length ¦ none_|length ¦ undefined_|length ¦ 5|length ¦ l|join(', ') ¦ mixed|join('|')
undefined_|join ¦ s|list ¦ d|list ¦ undefined_|list ¦ none_|list ¦ ['B', 'a', 'C']|sort ¦ ['B', 'a', 'C']|sort(case_sensitive=true)
['b', 'B', 'a']|unique|list ¦ [1, 'a']|sort ¦ none_|map('upper')|list ¦ none_|selectattr('x')|list
d|dictsort ¦ d|dictsort(true) ¦ d|dictsort(by='value') ¦ d|dictsort(reverse=true) ¦ d|dictsort(by='q') ¦ l|dictsort ¦ d|items|list
undefined_|items|list ¦ l|items|list ¦ l|batch(2)|list ¦ l|batch(2, 'x')|list ¦ l|slice(2)|list ¦ l|slice(2, 'x')|list ¦ l|map('nope')|list
l|select('nope')|list
s|upper ¦ s|lower ¦ s|title ¦ s|capitalize ¦ sp|trim ¦ 'xax'|trim('x') ¦ 5|trim ¦ none_|upper ¦ s|replace('l', 'L') ¦ s|replace('l', 'L', 1)
55|replace(5, 6) ¦ lines|indent ¦ lines|indent(2, true) ¦ lines|indent('> ', blank=true) ¦ 5|indent ¦ s|center(20) ¦ s|truncate(8)
s|truncate(5, true, '.', 0) ¦ s|truncate(5, leeway=0) ¦ 'a b-c_d 1'|wordcount ¦ html|escape ¦ html|e|e ¦ html|safe ¦ html|string ¦ 5|string
none_|string ¦ html|safe ~ '<' ¦ (html|safe) + '<' ¦ '<' + (html|safe) ¦ ('<' + (html|safe)).upper() ¦ (html|escape).replace('&', '<')
'%s' % 'a' ¦ 'hello %s'|format('x')
num|int ¦ bad|int ¦ bad|int(9) ¦ real|int ¦ real|float ¦ '0x1f'|int(0, 16) ¦ '101'|int(base=2) ¦ '1e400'|int ¦ 'inf'|float ¦ 'nan'|float
2.9|int ¦ -2.9|int ¦ none_|int ¦ none_|float ¦ t|int ¦ undefined_|int ¦ []|int(3) ¦ x|round ¦ 2.5|round ¦ 3.5|round ¦ 2.675|round(2)
x|round(0, 'ceil') ¦ x|round(0, 'floor') ¦ 1234.5|round(-2) ¦ 7|round ¦ neg|abs ¦ -2.5|abs ¦ 'a'|abs ¦ ' 12 '|int ¦ '+5'|int ¦ '1__0'|int
'9223372036854775807'|int
undefined_|default('x') ¦ e|default('x') ¦ e|default('x', true) ¦ none_|default('x') ¦ none_|d('x', true) ¦ undefined_|default ¦ d.q|default('z')
none_.q|default('w')
s|tojson ¦ quote|tojson ¦ mixed|tojson ¦ d|tojson ¦ d|tojson(indent=2) ¦ d|tojson(sort_keys=true) ¦ d|tojson(separators=(',', ':'))
people|tojson(indent=4) ¦ []|tojson(indent=2) ¦ ed|tojson(indent=2) ¦ 'äß😀\u2028'|tojson ¦ 'äß😀\x7f'|tojson(ensure_ascii=true) ¦ 1e20|tojson
[1.0, 1e-7, true, none]|tojson ¦ {1: 'a', none: 2, true: 3, 1.5: 4}|tojson ¦ (1, 2)|tojson ¦ undefined_|tojson
[undefined_]|tojson ¦ d|tojson(indent='--') ¦ '\b\f\x01'|tojson ¦ l|tojson(indent=0)
mixed|string ¦ quote|list|length ¦ [quote]|string ¦ ['a\'b', "c\"d", 'e\'f"g', '\u200a', 'é', '\x80'] ¦ [1.0, none, true] ¦ {'a': ('x',)}
[undefined_] ¦ range(3)|list ¦ range(2, 8, 3)|list ¦ range(5, 0, -2)|list ¦ range(3)[1] ¦ range(0)|length ¦ range(1000000) ¦ range()
range(1, 2, 0) ¦ dict(a=1, b=2) ¦ dict([['x', 1]], y=2) ¦ dict(d, a=9)
s is string ¦ 5 is string ¦ n is number ¦ t is number ¦ t is integer ¦ n is integer ¦ x is float|d is mapping ¦ l is mapping ¦ l is sequence
s is sequence|d is sequence|d.items() is sequence ¦ undefined_ is sequence ¦ none_ is sequence ¦ l is iterable ¦ s is iterable ¦ n is iterable
undefined_ is iterable ¦ undefined_ is defined ¦ none_ is defined ¦ none_ is none ¦ undefined_ is none ¦ t is true ¦ 1 is true ¦ f is false
t is boolean ¦ n is odd ¦ n is even ¦ z is even ¦ 9 is divisibleby 3 ¦ 9 is divisibleby(2) ¦ 'a' is in 'abc' ¦ 1 is in [2] ¦ s is eq 'x'
n is gt 5 ¦ n is lessthan(3) ¦ n is ne 7 ¦ s is not none ¦ s is not string ¦ 'abc' is lower ¦ 'ABC' is upper ¦ range is callable
s is callable ¦ none_ is sameas none ¦ l is sameas l ¦ 'upper' is filter ¦ 'nope' is filter ¦ 'odd' is test ¦ n is nope ¦ html|safe is escaped
undefined_ is undefined ¦ undefined_.x is defined|d.x.y is defined|d.x is defined ¦ n is string or t ¦ not n is string
1 if t else 2 ¦ 1 if f else 2 ¦ 1 if f ¦ 'a' if 1 == 2 else 'b' if 2 == 2 else 'c' ¦ (1 if f) is defined ¦ (1 if f).x ¦ [1, 2 if t else 3]
raise_exception('no ' ~ n) ¦ strftime_now('%d %b %Y %H:%M:%S %%') ¦ strftime_now('')|nope() ¦ s() ¦ s | nope ¦ namespace(a=1).a
namespace(d).b ¦ namespace(a=1).b is defined ¦ namespace({'x': 1}, y=2).y ¦ namespace(_a=1) ¦ cycler('a', 'b').next() ¦ joiner()()
(s|attr('upper'))() ¦ d|attr('a') ¦ people|map('attr', 'x')|list
9223372036854775807 ¦ -9223372036854775807 - 1 ¦ l | map('multiply')|list ¦ s.upper().lower()[1:3].title() ¦ s . upper ( ) ¦ l [ 0 ] ¦ [1,2,]
{'a':1,} ¦ (1,2,) ¦ dict(**{'a': 1}) ¦ dict(*[[['k', 2]]]) ¦ '\x41\u0042\103\n\q' ¦ 'a
b'|"a'b" ¦ '€' ~ '😀'[0] ¦ '😀x'|length ¦ loop ¦ true.x ¦ '' .join(l|map('string')) ¦ l|map('abs')|sum ¦ l.0 ¦ s.0
"""

STATEMENTS = [
    # white space
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a \n {%- if true -%} \n b \n {%- endif -%} \n c", "  {{ 1 }}  \n {{ 2 }}\n",
    "a {#- c -#} b {# d #}\nx\n  {# e #}\ny", "{% if true +%}\n x {%+ if true %} y {% endif %}{% endif %}", " {%+ if true %}x{% endif %}",
    "{% raw %}{{ x }} {% if %}{% endraw %}", "a {%- raw -%}  {{ x }}  {%- endraw -%} b", "{% raw %}\n x\n  {% endraw %}\ny", "a\r\nb\rc\n\n", "{{ 'a' }}\n\n",
    "x{% set a = 1 %}\n\ny", "{%set a=1%}{{a}}", "{{- 1 -}} {{ 2 }}", "{{ '{{' }} {{ '%}' }} { { {% if true %}%{% endif %}", "{{1}}{{\n2\n}}", "{#\n#}x", "\n\n{% if true %}\n\nx{% endif %}",
    "{%- for i in l %}\n  {{ i }}\n{%- endfor %}", "{% if true %}\t\n{% endif %}|", "a{# unclosed", "{{ 1", "{% if true %}", "{{ }}", "{% %}", "{{ 1 }", "{% endif %}", "{{ (1 }}", "{{ 'a }}", "{% raw %}x",
    # names and scopes
    "{% set a = 1 %}{% if true %}{% set a = 2 %}{% endif %}{{ a }}", "{% set a = 1 %}{% for i in l %}{% set a = i %}{{ a }}{% endfor %}{{ a }}",
    "{% set ns = namespace(n=0) %}{% for i in l %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = [1] %}", "{% set (a, b), c = ((1, 2), 3) %}{{ a }}{{ b }}{{ c }}",
    "{% set a = 1, 2 %}{{ a }}", "{% set a %}  x{{ n }}\n{% endset %}[{{ a }}]", "{% set a | upper | trim %} x {% endset %}[{{ a }}]", "{% set d.x = 1 %}", "{% set ns = namespace() %}{% set ns.a = 1 %}{% set ns.b %}t{% endset %}{{ ns.a ~ ns.b ~ ns.c }}",
    "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "{% with %}{% set q = 1 %}{% endwith %}{{ q is defined }}", "{{ q }}{% set q = 1 %}{{ q }}", "{% set s = s ~ '!' %}{{ s }}", "{% if f %}{% set s = 1 %}{% endif %}{{ s }}",
    "{% for s in l %}{{ s }}{% endfor %}{{ s }}", "{% set loop = 5 %}{% for i in [1] %}{{ loop.index }}{% endfor %}", "{% set x, y = 'ab' %}{{ y }}{{ x }}", "{% set ns = namespace(a=1) %}{% set ns._x = 1 %}", "{% set true = 1 %}",
    # if
    "{% if z %}a{% elif n %}b{% else %}c{% endif %}", "{% if z %}a{% elif e %}b{% else %}c{% endif %}", "{% if undefined_ %}a{% endif %}b", "{% if l and d and s %}x{% endif %}", "{% if empty or ed or e or none_ or 0.0 %}x{% else %}y{% endif %}", "{% if 1, 2 %}x{% endif %}", "{% if range(0) %}x{% else %}y{% endif %}",
    # for
    "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }};{% endfor %}",
    "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {{ loop.nextitem is defined }};{% endfor %}", "{% for i in l if i > 1 %}{{ loop.index }}/{{ loop.length }}:{{ i }}{{ loop.last }} {% else %}none{% endfor %}",
    "{% for i in l if i > 9 %}x{% else %}none{% endfor %}", "{% for i in [] %}x{% else %}none{{ i }}{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}",
    "{% for c in s %}{{ c }}.{% endfor %}", "{% for i in undefined_ %}x{% endfor %}y", "{% for i in none_ %}x{% endfor %}", "{% for i in 5 %}x{% endfor %}", "{% for a, b in [[1, 2], [3, 4]] %}{{ a }}{{ b }}{% endfor %}", "{% for a, b in [[1, 2, 3]] %}x{% endfor %}",
    "{% for i in range(10) %}{% if i == 3 %}{% continue %}{% endif %}{% if i == 6 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% for i in l %}{% for j in l %}{{ loop.index }}{% if j == 1 %}{% break %}{% endif %}{% endfor %}|{{ loop.index }}{% endfor %}",
    "{% for i in l %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for i in [1, 1, 2] %}{{ loop.changed(i) }}{% endfor %}", "{% for i in tree recursive %}{{ i.v }}({{ loop.depth }}{{ loop(i.c) }}){% endfor %}", "{% for i in l %}{{ loop(l) }}{% endfor %}", "{% break %}",
    "{% set ns = namespace(stop=false) %}{% for i in range(5) if not ns.stop %}{{ i }}{% if i == 1 %}{% set ns.stop = true %}{% endif %}{% endfor %}", "{% for i in l|reverse %}{{ i }}{% endfor %}", "{% set g = l|map('string') %}{{ g|list }}{{ g|list }}", "{% for i in l -%} {{ i }} {%- endfor %}",
    "{% for m in people[1:] %}{{ m.name }}{% endfor %}", "{% for i in l %}{% if loop.first %}{% set q = i %}{% endif %}{{ q }}{% endfor %}", "{% for i in l %}{% else %}{% break %}{% endfor %}", "{% for loop in l %}{{ loop }}{% endfor %}", "{% for i in (1, 2) %}{{ i }}{% endfor %}", "{% for i in 1, 2 %}{{ i }}{% endfor %}", "{% for i in l if loop.first %}{{ i }}{% endfor %}",
    # macros
    "{% macro m(a, b=2, c='x' ~ n) %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=5, a=6) }}{{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(q=2) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, k=3) }}", "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}body {{ n }}{% endcall %}", "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}-{{ b }}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "{% macro fact(k) %}{{ 1 if k < 2 else k * fact(k - 1)|int }}{% endmacro %}{{ fact(5) }}", "{% macro m() %}{{ later }}{% endmacro %}{% set later = 1 %}{{ m() }}", "{% macro m() %}{{ i }}{% endmacro %}{% for i in l %}{{ m() }}{% endfor %}", "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro m(a, a2=a) %}{{ a2 }}{% endmacro %}{{ m(4) }}", "{% macro m() %}{% set n = 1 %}{% endmacro %}{{ m() }}{{ n }}", "{% macro m(x) %}{% if x %}{{ m(x[1:]) }}{{ x[0] }}{% endif %}{% endmacro %}{{ m('abc') }}", "{% macro m(x) %}{{ x is defined }}{{ x }}{% endmacro %}{{ m() }}", "{{ m() }}{% macro m() %}x{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{{ m.name if m is defined }}{% macro m() %}{% endmacro %}{{ m.name }}",
    # other tags
    "{% filter upper %}abc {{ s }}{% endfilter %}", "{% filter replace('a', 'b')|upper %}aca{% endfilter %}", "{% generation %}x{{ n }}{% endgeneration %}", "{% generation %}{% set q = 1 %}{% endgeneration %}{{ q is defined }}", "{% print 1, 'a' %}", "{% do l %}", "{% nope %}", "{% if true: %}x{% endif %}", "{% for i in l: %}{{ i }}{% endfor %}",
    "{% if false %}{{ s|nope }}{% endif %}x", "{% if false %}{{ s is nope }}{% endif %}x", "{{ raise_exception('x') if false else 'ok' }}", "{% set x = raise_exception('a') %}", "{{ 1, 2 }}", "{{ s; }}", "{{ a b }}", "{% set 1 = 2 %}", "{% set a = %}", "{{ l[ }}", "{{ s.5x }}", "{{ 007 }}", "{{ a..b }}", "{{ 1 is none is none }}", "{{ s|upper|lower|upper }}", "{{ not }}", "{{ m(a=1, 2) }}", "{% for %}{% endfor %}", "{% if %}{% endif %}", "{% macro %}{% endmacro %}", "{% set x %}",
]


def conversations():
    u, a = (lambda c: {"role": "user", "content": c}), (lambda c, **k: {"role": "assistant", "content": c, **k})
    call = {"id": "call12345", "type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2, "x": None, "l": [1, "a"]}}}
    return [
        [u("Hello")], [{"role": "system", "content": " Be <b>brief</b>. "}, u(" Hi\n"), a("Ho"), u("So?")], [u("Sum?"), a("<think>\nadd\n</think>\n\nFour."), u("Sure?")],
        [u("Sum?"), a("Four.", reasoning_content="add\nthem"), u("ok"), a("x", reasoning_content="y")],
        [u("Rain?"), a("", tool_calls=[call, call]), {"role": "tool", "name": "weather", "tool_call_id": "call12345", "content": "{\"t\": 20}"}, {"role": "tool", "name": "weather", "content": "21"}, a("No."), u("Thanks")],
        [u("a"), u("b")], [a("I begin.")], [], [{"role": "wizard", "content": "?"}], [u([{"type": "text", "text": "Look: "}, {"type": "image"}])],
    ]


TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The \"weather\" of a <city>", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "où"}, "days": {"type": "integer", "default": 1}}, "required": ["city"]}}}]


def case(template, names, bare):
    out = {"template": template} if bare else {"file": template, "names": names}
    source = template if bare else (HERE.parent / template).read_text()
    try:
        if bare:
            out["text"] = hf._compile_jinja_template(template).render(**NAMES)
        else:
            names = dict(names)
            out["text"] = hf.render_jinja_template([names.pop("messages")], chat_template=source, **names)[0][0]
        out["text"].encode()
    except Exception:
        out.pop("text", None)
        out["error"] = True
    return out


def main():
    expressions = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split("¦")]
    bare = [case("{{ " + e + " }}", None, True) for e in expressions]
    bare += [case(s, None, True) for s in STATEMENTS]
    chats = []
    for path in sorted((HERE.parent / "chat").glob("*.jinja")) + sorted(HERE.glob("*.jinja")):
        for messages in conversations():
            for tools in (None, TOOLS):
                for flags in ({"add_generation_prompt": True}, {"add_generation_prompt": False, "enable_thinking": False}):
                    names = {"messages": messages, "tools": tools, "bos_token": "<s>", "eos_token": "</s>", **flags}
                    chats.append(case(f"{path.parent.name}/{path.name}", names, False))
    lines = [json.dumps(c, ensure_ascii=False) for c in bare + chats]
    (HERE / "cases.json").write_text(json.dumps({"names": NAMES}, ensure_ascii=False)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n")
    print(len(bare), "snippets,", len(chats), "conversations,", sum("error" in c for c in bare + chats), "refused")


main()
