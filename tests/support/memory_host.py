"""The other end of a memory port, frame by frame."""

from __future__ import annotations

import itertools
import os
import select
import time
from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack.switch import Opening

if TYPE_CHECKING:
    from ndpstack._core import nd_port
    from ndpstack.switch import Switch

_numbers = itertools.count()


def fresh_opening(**settings: object) -> Opening:
    """A memory port of a name that nobody has."""
    name = f"test-{os.getpid()}-{next(_numbers)}"
    return Opening(backend="memory", device=name, listen=True, **settings)  # type: ignore[arg-type]


class MemoryHost:
    """Connects to a listening memory port."""

    def __init__(self, opening: Opening) -> None:
        name = ffi.new("char[]", opening.device.encode())
        config = ffi.new("struct nd_port_config *")
        config.backend, config.name, config.mtu = lib.ND_PORT_MEMORY, name, opening.mtu
        error = ffi.new("struct nd_error *")
        port = lib.nd_port_open(config, error)
        assert port, ffi.string(error.text).decode()
        self._port: nd_port | None = port
        self._buffer = ffi.new("uint8_t[]", 16384)
        self._ready = select.poll()
        descriptors = ffi.new("int[]", lib.ND_PORT_DESCRIPTORS_MAX)
        for index in range(lib.nd_port_descriptors(port, descriptors)):
            self._ready.register(descriptors[index], select.POLLIN)

    @property
    def port(self) -> nd_port:
        assert self._port is not None
        return self._port

    def close(self) -> None:
        """Goes away."""
        if self._port is not None:
            lib.nd_port_close(self._port)
            self._port = None

    def is_up(self) -> bool:
        """Whether the switch has taken the connection."""
        return lib.nd_rig_port_is_up(self.port, ffi.new("struct nd_error *"))

    def send(self, frame: bytes) -> None:
        """Sends a frame; waits for room."""
        deadline = time.monotonic() + 10
        while lib.nd_rig_port_send(self.port, ffi.new("uint8_t[]", frame), len(frame)) < 0:
            assert time.monotonic() < deadline, "the switch takes no frames"
            time.sleep(0)

    def receive(self) -> bytes | None:
        """The next frame, or None when there is none."""
        got = lib.nd_rig_port_receive(self.port, self._buffer, len(self._buffer))
        return bytes(self._buffer[0:got]) if got >= 0 else None

    def wait(self, seconds: float = 10) -> bytes:
        """The next frame, waiting for it."""
        deadline = time.monotonic() + seconds
        while (frame := self.receive()) is None:
            left = deadline - time.monotonic()
            assert left > 0, "no frame came"
            if lib.nd_port_arm(self.port) and self._ready.poll(left * 1000):
                woken = self.receive()
                if woken is not None:
                    return woken
                self.is_up()  # It was the link.
        return frame

    def drain(self, settle: float = 0.05) -> list[bytes]:
        """All frames, until none has come for a while."""
        frames: list[bytes] = []
        deadline = time.monotonic() + settle
        while True:
            frame = self.receive()
            if frame is not None:
                frames.append(frame)
                deadline = time.monotonic() + settle
            elif time.monotonic() >= deadline:
                return frames
            else:
                time.sleep(0.001)


def mac(number: int) -> str:
    """Address of a host."""
    return f"02:00:00:00:00:{number:02x}"


def frame(source: int, target: int, payload: bytes = b"", vlan: int | None = None) -> bytes:
    """A frame of an experimental type; target 255 is everybody."""
    to = "ff:ff:ff:ff:ff:ff" if target == 255 else mac(target)
    head = bytes.fromhex((to + mac(source)).replace(":", ""))
    tag = b"" if vlan is None else b"\x81\x00" + vlan.to_bytes(2, "big")
    return (head + tag + b"\x88\xb5" + payload).ljust(60, b"\0")


def until_up(switch: Switch, *ports: str) -> None:
    """Waits until the ports are up."""
    deadline = time.monotonic() + 10
    for port in ports:
        while not switch.port_reading(port).up:
            assert time.monotonic() < deadline, switch.port_state(port).why
            switch.check_links()
            time.sleep(0.001)
