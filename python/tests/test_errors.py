# SPDX-License-Identifier: MIT
"""Errors are exceptions with their parts, and wrong arguments never end the process."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cke
from cke import _library

CASES = [(dict(temperature=-1), "temperature"), (dict(temperature="hot"), "temperature"), (dict(top_p=2), "top_p"),
         (dict(max_tokens=-3), "max_tokens"), (dict(max_tokens=1.5), "max_tokens"), (dict(stop=[3]), "stop[0]"),
         (dict(seed=2**70), "seed"), (dict(logit_bias={10**8: 1}), "logit_bias"), (dict(grammar="root ::= ("), "grammar"),
         (dict(json_schema="{"), "json_schema"), (dict(json_schema={"type": "zebra"}), None),
         (dict(json_schema={}, grammar="root ::= \"a\""), "json_schema")]


@pytest.mark.parametrize("options,subject", CASES, ids=str)
def test_options(model, options, subject):
    for make in (model.generate, model.session().generate):
        with pytest.raises(cke.Error) as refused:
            make("Once", **options)
        assert subject is None or refused.value.subject == subject, vars(refused.value)
    assert model.generate("Once", max_tokens=3)


def test_parts_of_a_wrong_value(model):
    with pytest.raises(cke.UsageError) as refused:
        model.generate("Once", temperature="hot")
    e = refused.value
    assert (e.code, e.subject, e.expected, e.found) == ("usage", "temperature", "a number", "a string")
    with pytest.raises(TypeError, match="temprature"):
        model.generate("Once", temprature=1)


def test_plain_text_has_no_place_for_more(model):
    for field, value in (("echo", True), ("logprobs", 2)):
        with pytest.raises(cke.UsageError) as refused:
            model.request("/generate", {"prompt": "Once", field: value})
        assert refused.value.subject == field


def test_prompts(model):
    for prompt, code in (([], "usage"), ([model.vocab_size], "usage"), ([1] * (model.context + 1), "context_overflow")):
        with pytest.raises(cke.Error) as refused:
            model.generate(prompt)
        assert refused.value.code == code
    with pytest.raises(cke.UsageError):
        model.chat([])
    with pytest.raises(cke.UsageError) as refused:
        model.chat([{"role": "nobody", "content": "x"}])
    assert refused.value.subject == "messages[0].role"
    with pytest.raises(cke.UsageError):
        model.detokenize([model.vocab_size + 10])


def test_files(tiny, tmp_path):
    with pytest.raises(cke.FileError) as missing:
        cke.Model(tmp_path / "none")
    assert missing.value.file == str(tmp_path / "none") and missing.value.code == "file"
    copy = tmp_path / "copy"
    shutil.copytree(tiny, copy)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "intermediate_size": config["intermediate_size"] + 32}))
    with pytest.raises(cke.Error) as wrong:
        cke.Model(copy)
    e = wrong.value
    assert e.code.startswith("tensor_") and e.file.startswith(str(copy)), vars(e)
    assert e.tensor and e.tensor in str(e) and e.expected and e.found, vars(e)
    (copy / "config.json").write_text(json.dumps(config))
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[:1000])
    with pytest.raises(cke.FileError) as cut:
        cke.Model(copy)
    assert "model.safetensors" in cut.value.file


def test_model_arguments(tiny):
    for options, subject in ((dict(format="f17"), "format"), (dict(kv="q3"), "kv"), (dict(threads=10**6), "threads"),
                             (dict(threads=-1), "threads"), (dict(context=2**30), "context"),
                             (dict(slots=10**6), "slots"), (dict(threads="two"), "threads")):
        with pytest.raises(cke.UsageError) as refused:
            cke.Model(tiny, **options)
        assert refused.value.subject == subject
        if subject == "format":  # every name that the command takes
            assert refused.value.expected == "f32, f16, bf16, q8_0, i8, i4, q4_0, q4_k_m, q5_k_m, q6_k"


def test_nulls():
    """The C functions themselves: what Python never passes."""
    functions = _library.library()
    error = _library.CError()
    take_ids, take_text = _library.TAKE_IDS(), _library.TAKE_TEXT()
    part, size = _library.c_void_p(), _library.c_size_t()
    for name, arguments in {
            "open": [None, None], "build": [None, None, take_text, None], "facts_of": [None, None],
            "tokenize": [None, b"a", 1, 1, 1, take_ids, None], "detokenize": [None, None, 1, 0, take_text, None],
            "ask": [None, None, None, 0], "answer_next": [None, 0, part, size], "answer_fd": [None],
            "session_create": [None], "session_fork": [None], "session_feed": [None, None, 1],
            "session_feed_all": [None, None, 1, None, 0], "sessions_feed": [None, 2], "session_logits": [None],
            "session_history": [None, take_ids, None], "session_rewind": [None, 0], "session_save": [None, b"a"],
            "session_load": [None, b"a"], "session_generate": [None, None, 0, None, 0]}.items():
        for at in (error, None):
            result = getattr(functions, name)(*arguments, at)
            assert result in (None, -1), name
        assert error.code == 14 and error.message, name  # usage
    for name in ("close", "answer_free", "answer_cancel", "session_free"):
        getattr(functions, name)(None)
    assert functions.session_position(None) == 0 and functions.answer_end(None).why == 0
    assert functions.error_name(1) == b"file" and functions.error_name(14) == b"usage"
    assert functions.error_name(0) == functions.error_name(-5) == functions.error_name(99) == b""


def test_a_route_that_is_not_there(model):
    with pytest.raises(cke.UsageError) as refused:
        model.request("/v1/zebra", {})
    assert refused.value.subject == "path"
    assert model.request("/facts")["vocabulary"] == model.vocab_size
    assert model.request("/tokenize", {"content": "Once"})["count"] == len(model.tokenize("Once", add_special=False))


def test_routes_whose_replies_are_no_objects(model):
    assert "\ncke_requests_total " in model.request("/metrics")
    assert len(model.request("/slots")) == model.slots
    assert model.request("/generate", {"prompt": "Once", "max_tokens": 9, "temperature": 0}) == \
        model.generate("Once", max_tokens=9)


def test_a_request_for_a_stream(model):
    body = {"prompt": "Once", "max_tokens": 3, "temperature": 0, "stream": True}
    with pytest.raises(cke.UsageError, match="stream()") as refused:
        model.request("/v1/completions", body)
    assert refused.value.subject == "stream"
    events = list(model.stream("/v1/completions", body))
    whole = model.request("/v1/completions", {**body, "stream": False})
    assert "".join(e["choices"][0]["text"] for e in events) == whole["choices"][0]["text"]


def test_a_bias_for_every_id(model):
    options = dict(max_tokens=4, logit_bias={token: token % 7 - 3 for token in range(model.vocab_size)})
    assert model.session().generate("Once", **options) == model.generate("Once", **options)


def test_flags_of_detokenize(model):
    assert model._detokenize(model.tokenize("Once"), 7) == b"Once"
    for flags in (8, -1):
        with pytest.raises(cke.UsageError) as refused:
            model._detokenize([1], flags)
        assert refused.value.subject == "how"


def test_another_version(tmp_path):
    """A library of another version, and a file that is none, are refused before they are used."""
    source = tmp_path / "other.c"
    source.write_text("unsigned cke_engine_version(void) { return 77; }")
    subprocess.run(["g++", "-xc", "-shared", "-fPIC", str(source), "-o", str(tmp_path / "other.so")], check=True)
    with pytest.raises(cke.Error) as refused:
        _library.Library(str(tmp_path / "other.so"))
    assert refused.value.found == "77" and refused.value.code == "unsupported"
    with pytest.raises(cke.FileError):
        _library.Library(str(source))


def test_import_is_quick_and_compiles_nothing(tmp_path):
    """By the processor's time, which other processes do not lengthen."""
    program = ("import time; a = time.process_time(); import cke; print(time.process_time() - a);"
               "import sys; assert cke._library._loaded is None and not {'asyncio', 'numpy'} & set(sys.modules)")
    seconds = []
    for _ in range(8):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env={"CKE_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"},
                              cwd=Path(__file__).parents[1])
        assert done.returncode == 0, done.stderr
        seconds.append(float(done.stdout))
    assert min(seconds) < 0.05, seconds
    assert not (tmp_path / "cache").exists()


def test_the_compiler_of_the_extra(tmp_path, monkeypatch):
    """ziglang compiles where it is installed and there is no other; CKE_CXX goes before."""
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang/__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CKE_CXX", "mine")
    monkeypatch.setenv("PATH", str(tmp_path))
    _library.choose_compiler()
    assert os.environ["CKE_CXX"] == "mine"
    monkeypatch.delenv("CKE_CXX")
    (tmp_path / "clang++").touch(0o755)
    _library.choose_compiler()
    assert "CKE_CXX" not in os.environ
    (tmp_path / "clang++").unlink()
    _library.choose_compiler()
    assert os.environ["CKE_CXX"] == f"{tmp_path}/ziglang/zig c++"
    monkeypatch.delenv("CKE_CXX")
    (tmp_path / "ziglang-9.8.7.dist-info").mkdir()
    (tmp_path / "ziglang-9.8.7.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: ziglang\nVersion: 9.8.7\n")
    monkeypatch.setattr(_library, "_package", str(tmp_path))
    ready = tmp_path / "_prefix/lib/cke/zig-9.8.7/zig-c++"
    ready.parent.mkdir(parents=True)
    ready.touch()
    _library.choose_compiler()
    assert (os.environ["CKE_CXX"], os.environ["CKE_ZIG"]) == (str(ready), f"{tmp_path}/ziglang/zig")
    monkeypatch.delenv("CKE_CXX")
    monkeypatch.delenv("CKE_ZIG")
    ready.parent.rename(ready.parent.with_name("zig-9.8.6"))  # libraries of another version are left alone
    _library.choose_compiler()
    assert os.environ["CKE_CXX"] == f"{tmp_path}/ziglang/zig c++"
    monkeypatch.delenv("CKE_CXX")


def test_the_compiler_of_the_extra_links_with_libraries_that_lie_beside_it(tmp_path):
    """zig-c++ has zig compile, then link; what is no shared object is zig's alone."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    zig = folder / "zig"
    zig.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >>"{tmp_path}/said"\necho >>"{tmp_path}/said"\n'
                   'for last; do :; done\n: >"$last"\n')
    zig.chmod(0o755)
    wrapper = shutil.copy(Path(__file__).parents[1] / "zig/zig-c++", folder)
    environment = {**os.environ, "CKE_ZIG": str(zig)}
    for words in (["--version"], ["-O3", "-shared", "-Wl,-x", "-I", f"{folder}/in", f"{folder}/u.cpp", "-o", f"{folder}/u.so"]):
        subprocess.run([wrapper, *words], check=True, env=environment, cwd=tmp_path)
    version, compiled, linked = (tmp_path / "said").read_text().splitlines()
    assert version == "c++|--version|"
    assert compiled == f"c++|-c|-O3|-I|{folder}/in|{folder}/u.cpp|-o|{folder}/u.so.o|"
    assert linked.startswith("ld.lld|-shared|") and linked.endswith(f"/libm.so.6|-o|{folder}/u.so|"), linked
    assert f"|{folder}/u.so.o|{folder}/libc++.a|{folder}/libc++abi.a|" in linked and "/libc.so.6|" in linked, linked
    assert not (folder / "u.so.o").exists()
    zig.write_text("#!/bin/sh\nexit 3\n")
    assert subprocess.run([wrapper, "-shared", "u.cpp", "-o", "u.so"], env=environment, cwd=tmp_path).returncode == 3


def test_build_of_a_config(model, tiny, tmp_path):
    config = Path(shutil.copy(Path(tiny) / "config.json", tmp_path))
    with pytest.raises(cke.UsageError) as refused:
        cke.build(config)
    assert refused.value.subject == "--format"
    assert cke.build(config, format=model.format) == cke.build(tiny)
