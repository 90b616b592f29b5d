# SPDX-License-Identifier: MIT
"""cke.llama against the source of the real package: CKE_LLAMA_CPP is its sdist (./dev python-peers fetches it). Each
argument has the same name, place and default, and every default is one that cke takes."""
import ast
import inspect
import os
import tarfile

import pytest

from cke.llama import _INSIDE, _NEUTRAL, Llama

SDIST = os.environ.get("CKE_LLAMA_CPP")
pytestmark = pytest.mark.skipif(not SDIST, reason="CKE_LLAMA_CPP names no sdist of llama-cpp-python")
METHODS = ["create_completion", "create_chat_completion", "tokenize", "detokenize", "embed", "create_embedding", "n_ctx",
           "n_vocab", "n_embd", "token_bos", "token_eos", "close"]


@pytest.fixture(scope="module")
def theirs():
    with tarfile.open(SDIST) as tar:
        name = next(n for n in tar.getnames() if n.endswith("/llama_cpp/llama.py"))
        tree = ast.parse(tar.extractfile(name).read())
    llama = next(c for c in tree.body if isinstance(c, ast.ClassDef) and c.name == "Llama")
    return {f.name: f.args for f in llama.body if isinstance(f, ast.FunctionDef)}


def written(default):
    """A default's value, or its text where it is a constant of llama.cpp's."""
    try:
        return ast.literal_eval(default)
    except ValueError:
        return ast.unparse(default)


@pytest.mark.parametrize("method", METHODS)
def test_methods(theirs, method):
    their = theirs[method]
    names = [a.arg for a in their.args]
    defaults = [inspect.Parameter.empty] * (len(names) - len(their.defaults)) + [written(d) for d in their.defaults]
    ours = inspect.signature(getattr(Llama, method)).parameters.values()
    assert [(p.name, p.default) for p in ours] == list(zip(names, defaults))


def test_a_call_is_a_completion(theirs):
    assert ast.dump(theirs["__call__"]).replace("'str'", "") .count("arg=") == \
        ast.dump(theirs["create_completion"]).replace("'str'", "").count("arg=")


def test_the_constructor(theirs, tiny):
    their = theirs["__init__"]
    ours = inspect.signature(Llama.__init__).parameters
    assert [a.arg for a in their.args] == ["self", "model_path"]
    literal = {}
    for a, default in zip(their.kwonlyargs, their.kw_defaults):
        assert a.arg in ours or a.arg in _INSIDE or a.arg in _NEUTRAL, a.arg
        value = written(default)
        if isinstance(value, str) and value.startswith("llama_cpp."):
            continue  # a constant
        literal[a.arg] = value
        if a.arg in ours:
            assert ours[a.arg].default == value, a.arg
    with pytest.raises(TypeError, match="zebra"):
        Llama(tiny, zebra=1)
    Llama(tiny, **literal).close()
