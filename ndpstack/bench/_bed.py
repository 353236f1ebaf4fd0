"""Where contestants meet: two hosts on one veth pair, or two processes of this machine."""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.bench._turn import Sample, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

    from ndpstack.testbed import Lab

READY_SECONDS = 20.0
TURN_SECONDS = 120.0
STOP_SECONDS = 5.0
INTERRUPTED = -2
MTU = 1500
"""Of the veth pair, where nobody asks for another."""

MEMORY_ADDRESSES = ("10.0.0.1", "10.0.0.2")
LOOPBACK = "127.0.0.1"


class TurnError(Exception):
    """A contestant that did not finish its turn: which end, in which phase, and what it said."""


class Bed:
    """Starts the two ends of turns.

    Args:
        lab: Two hosts back to back, or None: two processes, ours linked by shared memory and the
            kernel's by loopback.
    """

    def __init__(self, lab: Lab | None) -> None:
        self._lab = lab
        if lab is None:
            self.world, self.mtu = "memory", 0
            self._link = f"bench-{secrets.token_hex(4)}"
            self._server, self._client = MEMORY_ADDRESSES
            self._kernel = LOOPBACK
        else:
            self.world, self.mtu = "netns", lab.plan.links[0].mtu
            own = lab.plan.address("h0")
            self._link = own.interface
            self._server, self._client = str(own.ipv4), str(lab.plan.address("h1").ipv4)
            self._kernel = self._server

    def turn(
        self, kind: str, contestant: str, sizes: tuple[int, int], count: int, outstanding: int
    ) -> Sample:
        """Runs one turn.

        Args:
            kind: Of measurement.
            contestant: By name.
            sizes: Bytes of a request and of a reply.
            count: Requests that are timed.
            outstanding: How many wait at once.

        Raises:
            TurnError: It did not end as it should.
        """
        turn = Turn(
            kind=kind,
            contestant=contestant,
            request_bytes=sizes[0],
            reply_bytes=sizes[1],
            count=count,
            outstanding=outstanding,
            world=self.world,
            link=self._link,
            server=self._server,
            client=self._client,
            kernel=self._kernel,
            mtu=self.mtu or MTU,
        )
        with tempfile.TemporaryFile() as said, self._process("serve", turn, said) as server:
            port = self._port(server, said)
            return self._measure(replace(turn, port=port))

    def _argv(self, role: str, turn: Turn) -> Sequence[str]:
        command = [sys.executable, "-P", "-m", "ndpstack.bench._worker", role, turn.dumps()]
        if self._lab is None:
            return command
        return self._lab.argv("h0" if role == "serve" else "h1", command)

    @contextmanager
    def _process(self, role: str, turn: Turn, said: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen(
            self._argv(role, turn), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def _port(self, server: subprocess.Popen[bytes], said: IO[bytes]) -> int:
        """Waits until the server can be reached."""
        assert server.stdout is not None
        ready, _, _ = select.select([server.stdout], [], [], READY_SECONDS)
        line = server.stdout.readline() if ready else b""
        if not line:
            raise TurnError(f"the server did not start: {_last_line(said)}")
        return int(line)

    def _measure(self, turn: Turn) -> Sample:
        with tempfile.TemporaryFile() as said, self._process("measure", turn, said) as client:
            try:
                text, _ = client.communicate(timeout=TURN_SECONDS)
            except subprocess.TimeoutExpired:
                raise TurnError(
                    f"the client was not done in {TURN_SECONDS:.0f} s: {_last_line(said)}"
                ) from None
            if client.returncode == INTERRUPTED:
                raise KeyboardInterrupt
            if client.returncode:
                raise TurnError(f"the client failed: {_last_line(said)}")
        return Sample(**json.loads(text))


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


@contextmanager
def open_bed(world: str | None, mtu: int | None = None) -> Iterator[Bed]:
    """The bed of that world; None: namespaces where they can be made, else memory.

    Args:
        world: By name, or None.
        mtu: Of the veth pair, for all contestants alike.

    Raises:
        UserError: Namespaces were asked for and cannot be made, or an MTU where there are none.
    """
    from ndpstack.testbed import Lab, back_to_back, interruptible, why_unavailable

    reason = why_unavailable()
    if world == "netns" and reason:
        raise UserError(reason)
    with interruptible():
        if world == "memory" or reason:
            if mtu is not None:
                raise UserError(
                    f"--mtu {mtu}: only the veth pair has one, and this is memory and loopback"
                    + (f" ({reason})" if reason else "; leave out --on memory")
                )
            yield Bed(None)
            return
        with Lab(back_to_back(MTU if mtu is None else mtu), scenario="bench", offloads=True) as lab:
            yield Bed(lab)


def cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))
