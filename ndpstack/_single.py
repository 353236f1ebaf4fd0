"""What there is one of, for all who refer to it."""

from __future__ import annotations

from typing import NoReturn


class Single:
    """Something that ends what it stands for when it is gone, so that a copy would end it early."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"cannot copy or pickle a {name}: share it between threads; in a process of its own "
            "open another one"
        )
