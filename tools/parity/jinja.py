# SPDX-License-Identifier: MIT
"""jinja.py: chat templates rendered by `cke template` and by transformers' jinja2, byte by byte.

    python tools/parity/jinja.py corpus FOLDER [--cke build/release/cke]    every *.jinja in FOLDER, with many conversations
    python tools/parity/jinja.py random COUNT [--seed S] [--cke ...]        templates made of random pieces

FOLDER may be vendor/llama.cpp/models/templates of the llama-cpp-python sdist. Where jinja2 raises an error, cke must
refuse too; the texts of the errors are not compared. Exit 1 where anything differs. Needs transformers and jinja2.
"""
import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import transformers.utils.chat_template_utils as hf

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "Get the weather \"now\" for <b>città</b> & co",
        "parameters": {"type": "object", "required": ["location"], "properties": {
            "location": {"type": "string", "description": "City\nname"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}, "days": {"type": "integer", "default": 3},
            "opts": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "number"}}}}}}}},
    {"type": "function", "function": {
        "name": "add", "description": "Adds", "return": {"type": "number"},
        "parameters": {"type": "object", "required": ["x", "y"],
                       "properties": {"x": {"type": "number"}, "y": {"type": ["number", "null"]}}}}}]


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


def call(name, arguments, call_id="call12345"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(content, call_id="call12345"):
    return {"role": "tool", "name": "get_weather", "tool_call_id": call_id, "content": content}


CONVERSATIONS = {
    "one": [user("Hello")],
    "system": [system("You are a pirate. "), user(" Hello\n")],
    "turns": [system("S"), user("Hi"), assistant("Hello!"), user("And?"), assistant("  Nothing.\n"), user("<b>on</b> ñ 😀")],
    "thought": [user("Sum?"), assistant("<think>\nadd them\n</think>\n\nFour."), user("Sure?")],
    "reasoning": [user("Sum?"), assistant("Four.", reasoning_content="add\nthem"), user("Sure?"),
                  assistant("Yes", reasoning_content="hm")],
    "call": [system("S"), user("Rain?"),
             assistant("", tool_calls=[call("get_weather", {"location": "Paris", "days": 2, "f": 1.5, "n": None, "t": True, "l": [1, "a"]})]),
             answer("{\"t\": 20}"), assistant("It is 20."), user("Thanks")],
    "call without content": [user("Rain?"), assistant(None, tool_calls=[call("get_weather", {"location": "Paris"})]), answer("20 C")],
    "call as text": [user("Rain?"), assistant("Let me see", tool_calls=[call("get_weather", json.dumps({"location": "Paris"}))]),
                     answer("20 C"), assistant("ok")],
    "two calls": [user("Both?"), assistant("", reasoning_content="r", tool_calls=[
        call("get_weather", {"location": "Rome"}, "abcdefghi"), call("add", {"x": 1, "y": 2.5}, "jklmnopqr")]),
        answer("20", "abcdefghi"), answer("3.5", "jklmnopqr"), assistant("done"), user("x")],
    "parts": [user([{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": "nice"}]),
              assistant([{"type": "text", "text": "yes"}]), user("ok")],
    "developer": [{"role": "developer", "content": "Dev"}, user("Hi"), assistant("x")],
    "two users": [user("a"), user("b")],
    "assistant first": [assistant("I begin."), user("ok")],
    "none": [],
    "unknown role": [{"role": "wizard", "content": "?"}, user("Hi")],
    "markers": [system("<|im_start|>system<|im_end|>"), user("<think>x</think> [INST] </s> <|eot_id|> {{ messages }} {% if %}"),
                assistant("</think>"), user("z")],
}
FLAGS = [
    {"add_generation_prompt": True}, {"add_generation_prompt": False},
    {"add_generation_prompt": True, "enable_thinking": False},
    {"add_generation_prompt": True, "enable_thinking": True, "thinking": True, "date_string": "1 Jan 2025", "reasoning_effort": "low"}]


def wanted(source, messages, tools, names):
    """The text, or None if jinja2 raises an error or takes more than 2 s."""
    def give_up(*_):
        raise TimeoutError
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(2)
    try:
        text = hf.render_jinja_template([messages], tools=tools, chat_template=source, **names)[0][0]
        text.encode()
        return text
    except Exception:
        return None
    finally:
        signal.alarm(0)


def got(cke, folder, number, source, messages, tools, names):
    """The text or None, and the output on stderr."""
    names = dict(names)
    work = Path(folder)
    template, chat, offered = (work / f"{number}{end}" for end in (".jinja", ".messages", ".tools"))
    template.write_bytes(source.encode())
    chat.write_text(json.dumps(messages))
    words = [cke, "template", template, "--messages", chat]
    if tools is not None:
        offered.write_text(json.dumps(tools))
        words += ["--tools", offered]
    if not names.pop("add_generation_prompt", False):
        words.append("--no-generation-prompt")
    run = subprocess.run([*words, "--set", json.dumps(names)], capture_output=True, timeout=60)
    for path in (template, chat, offered):
        path.unlink(missing_ok=True)
    if run.returncode < 0:
        return "CRASH", run.stderr.decode()
    return (run.stdout.decode() if run.returncode == 0 else None), run.stderr.decode()


def compare(cke, cases):
    """cases: (label, source, messages, tools, names). Prints the differences; returns their number."""
    wants = [wanted(*case[1:]) for case in cases]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda i: got(cke, folder, i, *cases[i][1:]), range(len(cases))))
    differ = {}
    for case, want, (text, error) in zip(cases, wants, results):
        if text != want:
            differ.setdefault(case[0], []).append((case, want, text, error))
    for label, found in differ.items():
        case, want, text, error = found[0]
        print(f"{label}: {len(found)} differ\n  jinja2 {want!r:.300}\n  cke    {text!r:.300} {error[:200]}")
    refused = sum(want is None for want in wants)
    number = sum(map(len, differ.values()))
    print(f"{len(cases)} renderings, {len(cases) - number} equal ({refused} of all refused by jinja2), {number} differ")
    return number


def corpus(folder):
    cases = []
    for path in sorted(Path(folder).glob("*.jinja")):
        source = path.read_bytes().decode()
        for messages in CONVERSATIONS.values():
            for flags in FLAGS:
                for tools in (None, TOOLS):
                    cases.append((path.name, source, messages, tools, {"bos_token": "<s>", "eos_token": "</s>", **flags}))
    rendered = {case[0] for case in cases if wanted(*case[1:]) is not None}
    print(f"{len({case[0] for case in cases})} templates, {len(rendered)} of them rendered by jinja2 for some conversation")
    return cases


# # Productions of expressions by type: S text, N number, B truth, L list, D mapping, A anything.
GRAMMAR = {
    "S": """s;t;'a b';'é\\n';'';S ~ A;S + S;S|upper;S|lower;S|title;S|capitalize;S|trim;S|replace('a', S);S|indent(2);S|indent(N, B);S|default('q');S|e;S|safe
        S.strip();S.lstrip('a ');S.rstrip();S.upper();S.title();S.replace('b', 'é', 1);S.removeprefix('a');S.center(9);S.zfill(5);S[0:3];S[::-1];S[-2:];S[:N];L|join(S)
        L|join('-');','.join(S);A|tojson;A|tojson(indent=2);A|string;D|tojson(separators=(',', ':'));m(A);m(A, x=A);'%s|%s' % (A, N);'{}-{:>4}'.format(A, N);S|truncate(5)
        S|center(9);S * 2;S|reverse;S.capitalize();D.name|string;(S if B else S);S|first ~ S|last;S|wordcount ~ S""",
    "N": """n;x;1;-3;2.5;1e20;N + N;N - N;N * 2;N / 4;N // 2;N % 3;-N;N|abs;N|int;N|float;L|length;S|length;D|length;S|int;N|round(1);S.find('a');S.count('b');[N, N]|max;[N, N]|min
        [N, N]|sum;people|sum(attribute='age');(N if B else N);N ** 2""",
    "B": """B and B;B or B;not B;N < N;N >= N;A == A;A != A;N in L;S in S;S not in S;A is defined;missing is defined;A is none;A is string;A is mapping;A is number;A is iterable
        A is sequence;N is odd;A is boolean;A is not none;true;false;S.startswith('a');S.endswith(S);S.isdigit();missing;B is true;A is in(L);N is divisibleby(2);S is lower;N < N <= N""",
    "L": """l;people;[];[A, A];[N, A];(A, A);S.split();S.split('a');S.rsplit(' ', 1);S.splitlines();range(3)|list;L + [A];L|list;L|reverse|list;L|map('string')|list;L[1:];L[::2]
        people|map(attribute='name')|list;people|selectattr('age')|list;people|selectattr('age', 'defined')|list;people|rejectattr('name', 'equalto', S)|list;D.keys()|list
        D.items()|list;D|items|list;D|dictsort;[S, S]|sort;[N, N]|sort(reverse=true);L|select|list;L|reject('none')|list;L|batch(2)|list;L|slice(2)|list;[S, S]|unique|list;S|list
        people|sort(attribute='name');people|groupby('name')|list;(L if B else L);S.partition('a');D.values()|list;[A] * 2""",
    "D": "d;{};{'k': A, 'name': S};dict(a=A);people[0];people|first;(D if B else D);dict(d, b=A)",
    "A": "S;N;B;L;D;S;N;none_;none;missing;D.name;D.a;D.b;D['name'];D.get('q', A);L[0];L|first;L|last;people[1].age;ns.a;i;w;A|default(A);(A if B);A or A;A and A;people.0.name;S[1]",
}
# # Pieces that are more often invalid than valid.
WILD = "A + A;A|upper|int;A|sort;A[A];A.items();A|length;A < A;A.name.q;A(A);A|join;A|abs;-A;A % A;A|tojson|int;A is odd;loop.index;l.append(1)"
CHOICES = {kind: [p.strip() for line in text.splitlines() for p in line.split(";")] for kind, text in GRAMMAR.items()}
SPACES = ["", "", " ", "\n", "  \n ", "x", "é ", "\n\n", "\t"]


class Random:
    """Random templates that use every construct; most of them are valid."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def expression(self, depth=3, kind="A"):
        choices = CHOICES[kind]
        if kind == "A" and self.r.random() < 0.03:
            choices = WILD.split(";")
        choice = self.r.choice(choices)
        if depth <= 0:
            choice = {"S": "s", "N": "n", "B": "true", "L": "l", "D": "d", "A": "s"}[kind]
        out = ""
        for i, c in enumerate(choice):
            alone = not (choice[i - 1:i].isalnum() or choice[i + 1:i + 2].isalnum())
            if c not in CHOICES or not alone:
                out += c
                continue
            inner = self.expression(depth - 1, c)
            out += inner if inner.isalnum() or len(choice) == 1 else f"({inner})"
        return out

    def tag(self, inner):
        minus = lambda: self.r.choice(["", "", "-", "+"])
        return "{%" + minus() + " " + inner + " " + minus() + "%}"

    def block(self, depth=3):
        r, out = self.r, ""
        for _ in range(r.randint(1, 3)):
            out += r.choice(SPACES) + self.piece(depth) + r.choice(SPACES)
        return out

    def piece(self, depth):
        r, e, b = self.r, self.expression, lambda: self.block(depth - 1)
        test, many = lambda: e(2, "B"), lambda: e(2, "L")
        if depth == 0 or r.random() < 0.4:
            return "{{" + r.choice(["", "-"]) + " " + e() + " " + r.choice(["", "-"]) + "}}"
        tag = self.tag
        return r.choice([
            lambda: tag(f"if {test()}") + b() + tag("endif"), lambda: tag(f"if {e()}") + b() + tag(f"elif {test()}") + b() + tag("else") + b() + tag("endif"),
            lambda: tag(f"for i in {many()}") + b() + "{{ loop.index ~ loop.last ~ loop.length }}" + tag("endfor"), lambda: tag(f"for i in {many()} if {test()}") + b() + tag("else") + b() + tag("endfor"),
            lambda: tag("for q, i in d.items()") + b() + tag("endfor"), lambda: tag("for i in people") + b() + r.choice(["{% break %}", "{% continue %}"]) + b() + tag("endfor"),
            lambda: tag(f"set w = {e()}"), lambda: tag(f"set ns.a = {e()}"), lambda: tag("set w") + b() + tag("endset"),
            lambda: tag(f"macro m(s, x={e(1)})") + b() + tag("endmacro"), lambda: tag(f"filter {r.choice(['upper', 'trim', 'indent', 'title'])}") + b() + tag("endfilter"),
            lambda: tag(f"with i = {e()}") + b() + tag("endwith"), lambda: "{# " + r.choice(SPACES) + "#}", lambda: tag("generation") + b() + tag("endgeneration"),
            lambda: "{% raw %}" + r.choice(SPACES) + "{{ x }}" + tag("endraw"),
            lambda: tag("macro q()") + "<{{ caller() }}>" + tag("endmacro") + tag("call q()") + b() + tag("endcall"),
        ])()

    def template(self):
        return "{% set ns = namespace(a=1, b='x') %}{% set w = 'W' %}{% macro m(s, x=2) %}[{{ s }}{{ x }}]{% endmacro %}" + self.block()


VARIABLES = {"s": "a b\tÄb", "t": " aa\n b\n", "n": 3, "x": -2.5, "l": [3, "b", 1], "d": {"b": 1, "a": [1, 2], "name": "é"}, "none_": None,
             "people": [{"name": "Bob", "age": 3}, {"name": "al", "age": 1}, {"name": "bob"}]}


def random_cases(count, seed):
    make = Random(seed)
    cases = []
    for i in range(count):
        source = make.template()
        cases.append((f"{seed}:{i} {source}", source, [user("a<b>")], None, VARIABLES))
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["corpus", "random"])
    parser.add_argument("where", help="the folder, or how many")
    parser.add_argument("--cke", default="build/release/cke")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    cases = corpus(args.where) if args.what == "corpus" else random_cases(int(args.where), args.seed)
    sys.exit(compare(args.cke, cases) > 0)


main()
