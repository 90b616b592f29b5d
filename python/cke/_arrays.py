# SPDX-License-Identifier: MIT
"""Float32 memory as a numpy array, or as a memoryview where numpy is not installed; nothing is copied."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Tuple

if TYPE_CHECKING:
    from typing import Protocol

    class FloatArray(Protocol):
        """What numpy.ndarray and memoryview have in common."""

        @property
        def shape(self) -> Any: ...
        def __len__(self) -> int: ...
        def __getitem__(self, at: Any, /) -> Any: ...
        def tolist(self) -> Any: ...


def as_array(memory: Any, shape: Tuple[int, ...], writable: bool) -> FloatArray:
    """memory: a ctypes array of floats, which the result keeps alive."""
    view = memoryview(memory).cast("B")
    if not writable:
        view = view.toreadonly()
    try:
        import numpy
    except ImportError:
        return view.cast("f", shape) if 0 not in shape else view.cast("f")  # a memoryview has no sides of length 0
    result: FloatArray = numpy.frombuffer(view, dtype=numpy.float32).reshape(shape)
    return result


def new_floats(count: int) -> Any:
    return (ctypes.c_float * count)()


def greedy(row: FloatArray) -> int:
    """The index of the greatest number, the lowest of equal ones."""
    argmax = getattr(row, "argmax", None)
    if argmax is not None:
        return int(argmax())
    values = row.tolist()
    return int(values.index(max(values)))
