# SPDX-License-Identifier: MIT
"""libcke.so through ctypes: the functions of cke_engine.h, as they are there. ctypes lets other threads run meanwhile."""
from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, c_char, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, List, Optional, Sequence

from .errors import Error, FileError, UsageError

VERSION = 1  # of cke_engine.h
NO_TOKEN = 0xFFFFFFFF
END, PART, WAITING, FAILED = 0, 1, 2, -1
BYTES, NO_CONTROL, LEADING_SPACE = 1, 2, 4
ENDINGS = {1: "stop", 2: "length", 3: "cancelled"}

TAKE_TEXT = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
TAKE_IDS = ctypes.CFUNCTYPE(None, c_void_p, POINTER(c_uint32), c_size_t)


class CError(ctypes.Structure):
    _fields_ = [("code", c_int32), ("message", c_char * 2048), ("file", c_char * 512), ("subject", c_char * 512),
                ("expected", c_char * 512), ("found", c_char * 512)]


class COptions(ctypes.Structure):
    _fields_ = [("format", c_char_p), ("kv", c_char_p), ("mmproj", c_char_p), ("draft_model", c_char_p),
                ("threads", c_uint32), ("context", c_uint32), ("chunk", c_uint32), ("slots", c_uint32),
                ("draft", c_uint32)]


class CFacts(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("family", c_char_p), ("format", c_char_p), ("kv", c_char_p), ("isa", c_char_p),
                ("vocab", c_uint32), ("dim", c_uint32), ("context", c_uint32), ("threads", c_uint32),
                ("slots", c_uint32), ("has_tokenizer", c_uint32), ("has_chat", c_uint32), ("sees_images", c_uint32),
                ("bos", c_uint32), ("eos", c_uint32), ("stop_ids", POINTER(c_uint32)), ("stop_id_count", c_size_t),
                ("parameters", c_uint64), ("weight_bytes", c_uint64), ("activation_bytes", c_uint64),
                ("state_bytes", c_uint64)]


class CTurn(ctypes.Structure):
    _fields_ = [("session", c_void_p), ("ids", POINTER(c_uint32)), ("count", c_size_t)]


class CEnding(ctypes.Structure):
    _fields_ = [("why", c_int32), ("prompt", c_uint32), ("cached", c_uint32), ("generated", c_uint32)]


_IDS = POINTER(c_uint32)
_ERROR = POINTER(CError)
_FUNCTIONS = {
    "version": (c_uint32, []),
    "error_name": (c_char_p, [c_int32]),
    "open": (c_void_p, [c_char_p, POINTER(COptions), _ERROR]),
    "build": (c_int32, [c_char_p, POINTER(COptions), TAKE_TEXT, c_void_p, _ERROR]),
    "close": (None, [c_void_p]),
    "facts_of": (c_int32, [c_void_p, POINTER(CFacts), _ERROR]),
    "tokenize": (c_int32, [c_void_p, c_char_p, c_size_t, c_int32, c_int32, TAKE_IDS, c_void_p, _ERROR]),
    "detokenize": (c_int32, [c_void_p, _IDS, c_size_t, c_int32, TAKE_TEXT, c_void_p, _ERROR]),
    "ask": (c_void_p, [c_void_p, c_char_p, c_char_p, c_size_t, _ERROR]),
    "answer_next": (c_int32, [c_void_p, c_int32, POINTER(c_void_p), POINTER(c_size_t), _ERROR]),
    "answer_fd": (c_int32, [c_void_p, _ERROR]),
    "answer_cancel": (None, [c_void_p]),
    "answer_end": (CEnding, [c_void_p]),
    "answer_free": (None, [c_void_p]),
    "session_create": (c_void_p, [c_void_p, _ERROR]),
    "session_fork": (c_void_p, [c_void_p, _ERROR]),
    "session_free": (None, [c_void_p]),
    "session_feed": (c_int32, [c_void_p, _IDS, c_size_t, _ERROR]),
    "session_feed_all": (c_int32, [c_void_p, _IDS, c_size_t, POINTER(c_float), c_size_t, _ERROR]),
    "sessions_feed": (c_int32, [POINTER(CTurn), c_size_t, _ERROR]),
    "session_logits": (c_void_p, [c_void_p, _ERROR]),
    "session_position": (c_uint32, [c_void_p]),
    "session_history": (c_int32, [c_void_p, TAKE_IDS, c_void_p, _ERROR]),
    "session_rewind": (c_int32, [c_void_p, c_uint32, _ERROR]),
    "session_save": (c_int32, [c_void_p, c_char_p, _ERROR]),
    "session_load": (c_int32, [c_void_p, c_char_p, _ERROR]),
    "session_generate": (c_void_p, [c_void_p, _IDS, c_size_t, c_char_p, c_size_t, _ERROR]),
}

_package = os.path.dirname(os.path.abspath(__file__))
_tree = os.path.join(os.path.dirname(os.path.dirname(_package)), "build", "release")


def find(packaged: str, built: str = "") -> Optional[str]:
    """A file that came with the package, or the one in the build folder of the source tree that the package lies in."""
    for path in (os.path.join(_package, "_prefix", packaged), os.path.join(_tree, built)):
        if os.path.isfile(path):
            return path
    return None


def choose_compiler() -> None:
    """Where the system has no compiler, the one of the extra cke[compiler] compiles: the package ziglang."""
    import importlib.util
    import shutil

    if os.environ.get("CKE_CXX") or any(map(shutil.which, ("g++", "c++", "clang++"))):
        return
    package = importlib.util.find_spec("ziglang")
    if package is None or not package.origin:
        return
    zig = os.path.join(os.path.dirname(package.origin), "zig")
    with_libraries = find(f"lib/cke/zig-{_version_of('ziglang')}/zig-c++")
    if with_libraries:
        os.environ["CKE_ZIG"] = zig
    os.environ["CKE_CXX"] = with_libraries or zig + " c++"


def _version_of(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


class Library:
    """The functions by their names without cke_engine_."""

    def __init__(self, path: str) -> None:
        try:
            opened = ctypes.CDLL(path)
        except OSError as e:
            raise FileError(f"{path}: expected a shared object that can be opened, found {e}", "file", path, "",
                            "a shared object that can be opened", str(e)) from None
        for name, (result, arguments) in _FUNCTIONS.items():
            try:
                function = getattr(opened, "cke_engine_" + name)
            except AttributeError:
                raise FileError(f"{path}: expected libcke.so, found no function cke_engine_{name}", "file", path,
                                "cke_engine_" + name, "libcke.so", "no such function") from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
            if name == "version" and function() != VERSION:
                raise FileError(f"{path}: expected version {VERSION} of cke_engine.h, found {function()}", "unsupported",
                                path, "version", str(VERSION), str(function()))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(name)


_loaded: Optional[Library] = None
_loading = threading.Lock()


def library() -> Library:
    """Loads libcke.so on first use: the environment's CKE_LIBRARY, the packaged one, or that of the source tree."""
    global _loaded
    if _loaded is None:
        with _loading:
            if _loaded is None:
                path = os.environ.get("CKE_LIBRARY") or find("lib/libcke.so", "libcke.so")
                if path is None:
                    raise FileError("libcke.so: expected one in the package, or CKE_LIBRARY, found none", "file",
                                    "libcke.so", "", "one in the package, or CKE_LIBRARY", "none")
                _loaded = Library(path)
                choose_compiler()
    return _loaded


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def raise_error(error: CError) -> None:
    """Raises what a C function reported."""
    code = text_of(library().error_name(error.code))
    kind = {"usage": UsageError, "token_range": UsageError, "config_range": UsageError, "file": FileError,
            "malformed": FileError}.get(code, Error)
    raise kind(text_of(error.message), code, text_of(error.file), text_of(error.subject), text_of(error.expected),
               text_of(error.found))


def id_array(ids: Sequence[int]) -> Any:
    """ids as a C array. The elements are checked, as ctypes would wrap them."""
    for i, x in enumerate(ids):
        if not isinstance(x, int) and not hasattr(x, "__index__"):
            raise UsageError(f"ids[{i}]: expected a number, found {x!r}", "usage", "", f"ids[{i}]", "a number", repr(x))
        if not 0 <= x < NO_TOKEN:
            raise UsageError(f"ids[{i}]: expected an id of 32 bits, found {x}", "token_range", "", f"ids[{i}]",
                             "an id of 32 bits", str(x))
    return (c_uint32 * len(ids))(*ids)


def taken_ids(call: Callable[[Any], int], error: CError) -> List[int]:
    """The ids that a function hands out."""
    got: List[int] = []
    if call(TAKE_IDS(lambda _, ids, count: got.extend(ids[:count]))):
        raise_error(error)
    return got


def taken_bytes(call: Callable[[Any], int], error: CError) -> bytes:
    got: List[bytes] = []
    if call(TAKE_TEXT(lambda _, text, count: got.append(ctypes.string_at(text, count) if count else b""))):
        raise_error(error)
    return got[0] if got else b""


class Handle:
    """A pointer of the library. `with handle as pointer` keeps it from being freed meanwhile, so that close() is safe
    while other threads use it: the last one frees it."""

    def __init__(self, pointer: int, free: Callable[[int], None], what: str) -> None:
        self._pointer = pointer
        self._free = free
        self._what = what
        self._users = 1  # the owner
        self._closed = False
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        return self._closed

    def __enter__(self) -> int:
        with self._lock:
            if self._closed:
                raise UsageError(f"{self._what}: expected one that is open, found a closed one", "usage", "",
                                 self._what, "one that is open", "a closed one")
            self._users += 1
            return self._pointer

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self._free(self._pointer)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._leave()

    def __del__(self) -> None:
        self.close()


class Lease:
    """Keeps a handle's pointer alive for as long as this object lives: memory of it is in use."""

    def __init__(self, handle: Handle) -> None:
        handle.__enter__()
        self._handle = handle

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._handle.__exit__()
