"""C arrays as numpy arrays, without a copy and without a second description of the structs."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ndpstack._core import ffi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ndpstack._core import CData, CType

_Item = TypeVar("_Item", bound=np.generic)

_SIGNED = {"int8_t", "int16_t", "int32_t", "int64_t", "int"}


def _scalar(ctype: CType) -> np.dtype[np.generic]:
    kind = "i" if ctype.cname in _SIGNED else "u"
    return np.dtype(f"{kind}{ffi.sizeof(ctype)}")


@cache
def record(struct: str) -> np.dtype[np.void]:
    """The numpy type of a C struct that has integers only."""
    ctype = ffi.typeof(f"struct {struct}")
    names = [name for name, _ in ctype.fields]
    return np.dtype(
        {
            "names": names,
            "formats": [_scalar(field.type) for _, field in ctype.fields],
            "offsets": [field.offset for _, field in ctype.fields],
            "itemsize": ffi.sizeof(ctype),
        }
    )


def _release(owner: object, _pointer: CData) -> None:
    """Does nothing but keep the owner until the pointer is gone."""


def view(pointer: CData, count: int, dtype: np.dtype[_Item], owner: object) -> NDArray[_Item]:
    """An array over count items at pointer, read-only; owner lives as long as it does."""
    if not pointer or count == 0:
        return np.empty(0, dtype)
    kept = ffi.gc(pointer, partial(_release, owner))
    array: NDArray[_Item] = np.frombuffer(
        memoryview(ffi.buffer(kept, count * dtype.itemsize)), dtype
    )
    array.flags.writeable = False
    return array
