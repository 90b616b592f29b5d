# SPDX-License-Identifier: MIT
"""The exceptions of cke."""
from __future__ import annotations

from typing import Optional


class Error(RuntimeError):
    """What the library refuses, with the parts that it knows; a part is "" where it does not know it.

    code: "file", "malformed", "unsupported", "tensor_missing", "tensor_shape", "config_range", "token_range",
    "context_overflow", "out_of_memory", "compile", "usage", "cache_full" and the like.
    """

    def __init__(self, message: str, code: str = "usage", file: str = "", subject: str = "", expected: str = "",
                 found: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.file = file
        self.subject = subject
        self.expected = expected
        self.found = found

    @property
    def tensor(self) -> Optional[str]:
        """The tensor that the error is about, if it is about one."""
        return self.subject if self.code.startswith("tensor_") else None


class UsageError(Error, ValueError):
    """A wrong argument, or a call at the wrong time."""


class FileError(Error, OSError):
    """A file that cannot be read, or is not what it claims to be."""
