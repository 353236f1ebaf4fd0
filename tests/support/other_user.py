"""Another user of the machine."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def as_nobody(call: Callable[[], object]) -> str:
    """What a call returns or raises in a process of user `nobody`, as text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(pwd.getpwnam("nobody").pw_uid)
            try:
                text = str(call())
            except BaseException as error:
                text = str(error)
            os.write(writer, text.encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader) as file:
        text = file.read()
    assert os.waitpid(child, 0)[1] == 0
    return text
