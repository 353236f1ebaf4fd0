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
    if sys.stdout.isatty():
        raise UserError("frames are no text: pipe them (| tcpdump -nr -), or write a file: -w FILE")
    yield sys.stdout.buffer


def capture(client: Client, arguments: argparse.Namespace) -> None:
    """Writes frames until it is interrupted, the time is over or the reader is gone."""
    deadline = time.monotonic() + arguments.seconds if arguments.seconds else None
    with _target(arguments.write) as file:
        answer = client.call(
            "capture.start",
            switch=arguments.switch,
            ports=arguments.ports,
            direction=arguments.direction,
            snaplen=arguments.snaplen,
        )
        number = cast("dict[str, int]", answer)["id"]
        lost = 0
        try:
            while deadline is None or time.monotonic() < deadline:
                lost = _copy(client, file, lost)
        except KeyboardInterrupt:
            pass
        finally:
            client.call("capture.stop", id=number)
            lost = _copy(client, file, lost)
            if lost:
                print(f"switchctl: {lost} frames came too fast and are missing", file=sys.stderr)


def _copy(client: Client, file: BinaryIO, lost: int) -> int:
    for message in client.notifications(POLL_SECONDS):
        if message.method == "capture":
            file.write(cast("bytes", message.params["data"]))
            lost = cast("int", message.params["lost"])
    file.flush()
    return lost
