"""`switchctl capture`: frames as pcapng, to a file or to another program."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from ndpstack._errors import UserError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ndpstack.control import Client

POLL_SECONDS = 0.2


@contextlib.contextmanager
def _target(name: str) -> Iterator[BinaryIO]:
    if name != "-":
        with Path(name).open("wb") as file:
            yield file
        return
    yield sys.stdout.buffer


def capture(client: Client, arguments: argparse.Namespace) -> None:
    """Writes frames until it is interrupted, the time is over or the reader is gone."""
    if arguments.write == "-" and sys.stdout.isatty():
        raise UserError("frames are no text: pipe them (| tcpdump -nr -), or write a file: -w FILE")
    deadline = time.monotonic() + arguments.seconds if arguments.seconds else None
    # Before the file is opened: a capture that is refused costs no earlier one.
    answer = client.call(
        "capture.start",
        switch=arguments.switch,
        ports=arguments.ports,
        direction=arguments.direction,
        snaplen=arguments.snaplen,
    )
    number = cast("dict[str, int]", answer)["id"]
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_target(arguments.write))
        except OSError:
            client.call("capture.stop", id=number)
            raise
        _record(client, file, number, deadline)


def _record(client: Client, file: BinaryIO, number: int, deadline: float | None) -> None:
    """Writes what a capture sends until it ends, and ends it."""
    lost = 0
    try:
        while deadline is None or time.monotonic() < deadline:
            lost = _copy(client, file, number, lost)
    except KeyboardInterrupt:
        pass
    finally:
        client.call("capture.stop", id=number)
        lost = _copy(client, file, number, lost)
        if lost:
            print(f"switchctl: {lost} frames came too fast and are missing", file=sys.stderr)


def _copy(client: Client, file: BinaryIO, number: int, lost: int) -> int:
    for message in client.notifications(POLL_SECONDS):
        if message.method == "capture" and message.params["id"] == number:
            file.write(cast("bytes", message.params["data"]))
            lost = cast("int", message.params["lost"])
    file.flush()
    return lost
