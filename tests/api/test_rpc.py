"""Calls by name: values, errors, deadlines, cancellation, spreading, metrics."""

from __future__ import annotations

import asyncio
import errno
import json
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from called import PORT, Pair, by_loop, until, with_client
from loops import run

import ndpstack
from ndpstack import aio, errors
from ndpstack._rpc_client import _is_silent, _Server
from ndpstack._rpc_wire import pack_request, unpack_reply, unpack_request
from ndpstack.rpc import Client, RemoteError, Service, deadline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@dataclass
class Point:
    """A value with a type."""

    x: int
    y: int


def make_service() -> Service:
    service = Service("test")

    @service.method
    async def add(a: int, b: int = 1) -> int:
        return a + b

    @service.method
    def size(data: bytes) -> int:
        return len(data)

    @service.method(name="where", thread=True)
    def thread_name() -> str:
        return threading.current_thread().name

    @service.method
    async def fail(text: str) -> None:
        raise KeyError(text)

    @service.method
    async def mirror(point: dict[str, int]) -> Point:
        return Point(point["y"], point["x"])

    @service.method
    async def left() -> float | None:
        return deadline()

    return service


@by_loop
def test_values_of_all_kinds_of_methods(kind: str, pair: Pair) -> None:
    async def body(client: Client) -> None:
        assert await client.call("add", 2, b=3) == 5
        assert await client.call("add", 2) == 3
        for size in (0, 1, 4097, 2_000_000):  # T52: no other limit than the message's.
            assert await client.call("size", bytes(size)) == size
        name = await client.call("where")
        assert isinstance(name, str)
        assert name != threading.current_thread().name

    with_client(kind, pair, make_service(), body)


@by_loop
def test_errors_keep_type_and_message(kind: str, pair: Pair) -> None:
    async def body(client: Client) -> None:
        with pytest.raises(RemoteError) as caught:
            await client.call("fail", "the key")
        assert (caught.value.kind, caught.value.text) == ("KeyError", "'the key'")
        with pytest.raises(RemoteError, match="LookupError: service test has no method none"):
            await client.call("none")
        with pytest.raises(RemoteError, match="TypeError"):
            await client.call("add")
        assert await client.call("add", 1) == 2

    with_client(kind, pair, make_service(), body)


@by_loop
def test_deadlines_travel(kind: str, pair: Pair) -> None:
    service = make_service()
    ended: list[str] = []

    @service.method
    async def sleep() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            ended.append("slept")

    async def body(client: Client) -> None:
        assert await client.call("left") is None
        left = await client.call("left", timeout=5)
        assert isinstance(left, float)
        assert 3 < left <= 5
        with pytest.raises(TimeoutError):
            await client.call("sleep", timeout=0.1)
        await until(lambda: ended == ["slept"])

    with_client(kind, pair, service, body)
    assert service.metrics["sleep"].cancelled == 1


@by_loop
def test_the_server_may_notice_first_that_it_is_late(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks at the clock first: the caller gets one and the same error."""
    service = make_service()

    @service.method
    async def sleep() -> None:
        await asyncio.sleep(10)

    @service.method
    async def give_up() -> None:
        raise TimeoutError("of its own")

    def hurried(method: str, flags: int, left_ns: int, body: bytes) -> bytes:
        return pack_request(method, flags, left_ns // 1000, body)

    async def body(client: Client) -> None:
        with pytest.raises(RemoteError, match="TimeoutError: of its own"):
            await client.call("give_up", timeout=60)
        monkeypatch.setattr("ndpstack._rpc_client.pack_request", hurried)
        with pytest.raises(errors.Timeout, match="took longer than the call's timeout"):
            await client.call("sleep", timeout=60)

    with_client(kind, pair, service, body)
    assert service.metrics["sleep"].cancelled == 1
    assert service.metrics["give_up"].cancelled == 0


@by_loop
def test_cancellation_reaches_the_method(kind: str, pair: Pair) -> None:
    service = make_service()
    events: list[str] = []

    @service.method
    async def wait() -> None:
        events.append("began")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    async def body(client: Client) -> None:
        calls = [asyncio.create_task(client.call("wait")) for _ in range(20)]
        await until(lambda: events.count("began") == 20)
        for call in calls:
            call.cancel()
        await until(lambda: events.count("cancelled") == 20)
        assert await client.call("add", 1) == 2
        assert service.metrics["wait"].active == 0

    with_client(kind, pair, service, body)


@by_loop
def test_one_way_calls_run_without_being_waited_for(kind: str, pair: Pair) -> None:
    service = make_service()
    go, ran = asyncio.Event(), asyncio.Event()

    @service.method
    async def later() -> None:
        await go.wait()
        ran.set()

    async def body(client: Client) -> None:
        await client.notify("later")
        assert not ran.is_set()
        go.set()
        await ran.wait()

    with_client(kind, pair, service, body)


@by_loop
def test_an_argument_may_have_any_name(kind: str, pair: Pair) -> None:
    service = Service("test")
    noted: list[str] = []

    @service.method
    async def greet(name: str) -> str:
        noted.append(name)
        return f"hello {name}"

    @service.method
    async def spell(name: str) -> AsyncIterator[str]:
        for letter in name:
            yield letter

    class Api:
        async def greet(self, *, name: str) -> str:
            """A greeting."""
            raise NotImplementedError

    async def body(client: Client) -> None:
        assert await client.call("greet", name="you") == "hello you"
        assert await client.stub(Api).greet(name="you") == "hello you"
        await client.notify("greet", name="them")
        await until(lambda: "them" in noted)
        assert [letter async for letter in client.stream("spell", name="ab")] == ["a", "b"]

    with_client(kind, pair, service, body)


@by_loop
def test_typed_stubs(kind: str, pair: Pair) -> None:
    class Api:
        async def add(self, a: int, b: int = 1) -> int:
            """Sum."""
            raise NotImplementedError

        async def mirror(self, point: Point) -> Point:
            """Axes swapped."""
            raise NotImplementedError

    async def body(client: Client) -> None:
        api = client.stub(Api, timeout=5)
        assert await api.add(2, b=5) == 7
        assert await api.mirror(Point(1, 2)) == Point(2, 1)
        with pytest.raises(TypeError, match="missing a required argument"):
            await api.add()  # type: ignore[call-arg]

    with_client(kind, pair, make_service(), body)


def test_a_dataclass_goes_and_comes(pair: Pair) -> None:
    async def body(client: Client) -> None:
        assert await client.call("mirror", Point(1, 2)) == {"x": 2, "y": 1}

    with_client("asyncio", pair, make_service(), body)


def test_any_codec_will_do(pair: Pair) -> None:
    class Json:
        def pack(self, value: object) -> bytes:
            return json.dumps(value).encode()

        def unpack(self, data: memoryview) -> object:
            return json.loads(bytes(data))

    service = Service("json", codec=Json())

    @service.method
    async def double(value: list[int]) -> list[int]:
        return value * 2

    async def main() -> None:
        async with service.serving(pair[0], PORT):
            servers = [(pair[0].address, PORT)]
            async with Client(pair[1], servers, codec=Json()) as client:
                assert await client.call("double", [1, 2]) == [1, 2, 1, 2]

    run("asyncio", main())


@by_loop
def test_load_is_spread_and_dead_servers_are_avoided(kind: str, pair: Pair) -> None:
    services = [make_service() for _ in range(3)]

    async def main() -> None:
        dead = (pair[0].address, PORT + 9)
        servers = [dead, *((pair[0].address, PORT + i) for i in range(3))]
        async with (
            services[0].serving(pair[0], PORT),
            services[1].serving(pair[0], PORT + 1),
            services[2].serving(pair[0], PORT + 2),
            Client(pair[1], servers) as client,
        ):
            for i in range(60):
                assert await client.call("add", i) == i + 1

    run(kind, main())
    assert [service.metrics["add"].calls for service in services] == [20, 20, 20]


@by_loop
def test_a_server_that_is_silent_is_avoided(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that hangs costs one call its timeout, not every second one."""
    monkeypatch.setattr("ndpstack._rpc_client.SET_ASIDE_S", 1000.0)
    monkeypatch.setattr("ndpstack._rpc_client.SET_ASIDE_S_MAX", 1000.0)
    service = make_service()

    async def main() -> None:
        servers = [(pair[0].address, PORT + 1), (pair[0].address, PORT)]
        async with (
            aio.HomaSocket(pair[0]) as silent,
            service.serving(pair[0], PORT),
            Client(pair[1], servers) as client,
        ):
            await silent.bind(PORT + 1)
            with pytest.raises(TimeoutError):
                await client.call("add", 0, timeout=0.1)
            for i in range(20):
                assert await client.call("add", i, timeout=20) == i + 1

    run(kind, main())


def test_a_server_is_set_aside_the_longer_the_longer_it_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr("ndpstack._rpc_client.time", SimpleNamespace(monotonic=lambda: now))
    server = _Server(("10.0.0.1", PORT))
    waits = []
    for _ in range(8):
        server.miss(since=now, silent=True)
        waits.append(server.aside_until - now)
        now += 0.5
        server.miss(since=now - 1, silent=True)  # It was under way when the other one ended.
        now += 100
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    for _ in range(1100):  # Doublings beyond what a float holds.
        server.miss(since=now, silent=True)
    server.hear()
    now += 100
    server.miss(since=now - 101, silent=True)  # Another call was answered meanwhile.
    assert server.aside_until < now
    for _ in range(3):  # Its host lives: it may only be slow.
        server.miss(since=now, silent=False)
        assert server.aside_until == now + 1
    server.miss(since=now, silent=True)
    assert server.aside_until == now + 1


def test_a_host_that_answers_homa_is_not_silent(pair: Pair) -> None:
    """Whatever becomes of the call; one to which no way is found is."""
    assert _is_silent(errors.Timeout(errno.ETIMEDOUT, "cannot resolve the peer"))

    async def silences(client: Client) -> bool:
        with pytest.raises(errors.Timeout) as caught:
            await client.call("add", 1, timeout=0.2)
        return _is_silent(caught.value)

    async def main() -> None:
        with ndpstack.memory_pair() as (lost, asking):
            async with (
                aio.HomaSocket(pair[0]) as hanging,
                Client(pair[1], [(pair[0].address, PORT)]) as client,
                Client(asking, [(lost.address, PORT)]) as left_alone,
            ):
                await hanging.bind(PORT)
                asking.peer(lost.address)
                lost.close()
                assert await silences(left_alone)
                assert not all([await silences(client) for _ in range(5)])

    run("asyncio", main())


@by_loop
@pytest.mark.parametrize("end", ["client", "server"])
def test_a_late_server_is_avoided_whoever_notices(
    kind: str, end: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ndpstack._rpc_client.SET_ASIDE_S", 1000.0)
    monkeypatch.setattr("ndpstack._rpc_client.SET_ASIDE_S_MAX", 1000.0)
    services = [make_service() for _ in range(2)]

    @services[0].method
    async def wait() -> None:
        await asyncio.Event().wait()

    def hurried(method: str, flags: int, left_ns: int, body: bytes) -> bytes:
        return pack_request(method, flags, left_ns // 1000, body)

    async def main() -> None:
        servers = [(pair[0].address, PORT + i) for i in range(2)]
        async with (
            services[0].serving(pair[0], PORT),
            services[1].serving(pair[0], PORT + 1),
            Client(pair[1], servers) as client,
        ):
            with monkeypatch.context() as patch:
                if end == "server":
                    patch.setattr("ndpstack._rpc_client.pack_request", hurried)
                with pytest.raises(errors.Timeout):
                    await client.call("wait", timeout=60 if end == "server" else 0.2)
            for i in range(20):
                assert await client.call("add", i) == i + 1

    run(kind, main())
    assert [service.metrics["add"].calls for service in services] == [0, 20]


@by_loop
def test_a_server_that_was_given_no_time_is_asked_again(
    kind: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ndpstack._rpc_client.SET_ASIDE_S", 1000.0)
    monkeypatch.setattr("ndpstack._rpc_client.SET_ASIDE_S_MAX", 1000.0)
    services = [make_service() for _ in range(2)]

    async def main() -> None:
        servers = [(pair[0].address, PORT + i) for i in range(2)]
        async with (
            services[0].serving(pair[0], PORT),
            services[1].serving(pair[0], PORT + 1),
            Client(pair[1], servers) as client,
        ):
            with pytest.raises(TimeoutError):
                await client.call("left", timeout=0)
            for i in range(20):
                assert await client.call("add", i) == i + 1

    run(kind, main())
    assert [service.metrics["add"].calls for service in services] == [10, 10]


@by_loop
def test_metrics_count(kind: str, pair: Pair) -> None:
    service = make_service()

    async def body(client: Client) -> None:
        for i in range(5):
            await client.call("add", i)
        with pytest.raises(RemoteError):
            await client.call("fail", "x")

    with_client(kind, pair, service, body)
    add, fail = service.metrics["add"], service.metrics["fail"]
    assert (add.calls, add.errors, add.active) == (5, 0, 0)
    assert (fail.calls, fail.errors) == (1, 1)
    assert add.seconds >= add.seconds_max > 0
    assert add.request_bytes > 5 * 12
    assert add.reply_bytes > 5 * 12


@by_loop
def test_more_calls_than_the_service_works_on_wait(kind: str, pair: Pair) -> None:
    service = Service("narrow", concurrency_max=4)
    active = most = 0

    @service.method
    async def work() -> None:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.002)
        active -= 1

    async def body(client: Client) -> None:
        await asyncio.gather(*(client.call("work") for _ in range(60)))

    with_client(kind, pair, service, body)
    assert most == 4


HOSTILE = [
    b"",
    b"\x01\x00",
    b"\x02" + bytes(11),
    pack_request("add", 0, 0, b"")[:-1] + b"\xff\xff",
    pack_request("add", 0, 0, b"\xdd\xff\xff\xff\xff"),  # An array of four thousand million.
    pack_request("add", 0, 0, b"\xc6\xff\xff\xff\xff"),  # Four GiB of bytes.
    pack_request("add", 0, 0, b"\xc1"),
    pack_request("\0next", 2, 12345, b""),
    b"\x01\x00\xff\x00" + bytes(8) + b"x" * 10,
]


def test_hostile_requests_are_answered_by_errors(pair: Pair) -> None:
    """T52: a claim beyond the message is refused before anything is allocated."""

    async def main() -> None:
        async with make_service().serving(pair[0], PORT), aio.HomaSocket(pair[1]) as socket:
            for request in HOSTILE:
                reply = await socket.request((pair[0].address, PORT), request, timeout=5)
                assert unpack_reply(reply).status == 1

    run("asyncio", main())


def test_heads_survive_the_way() -> None:
    head = unpack_request(memoryview(pack_request("naïve", 1, 77, b"body")))
    assert (head.method, head.flags, head.left_ns, bytes(head.body)) == ("naïve", 1, 77, b"body")
    with pytest.raises(ValueError, match="300 bytes, the limit is 255"):
        pack_request("x" * 300, 0, 0, b"")


def test_a_name_that_is_no_text_is_refused_by_both_ends(pair: Pair) -> None:
    method = cast("Callable[..., Callable[..., object]]", Service("test").method)
    for text, arguments in (("int", {"name": 5}), ("list", {"name": ["echo"]})):
        with pytest.raises(TypeError, match=f"name is a str, not {text}"):
            method(**arguments)(print)
    with pytest.raises(TypeError, match=r"is a function, not str: names go into method\(name=\)"):
        method("echo")

    async def main() -> None:
        async with Client(pair[1], [(pair[0].address, PORT)]) as client:
            for call in (client.call, client.notify):
                with pytest.raises(TypeError, match="name is a str, not bytes"):
                    await call(b"add", 1, 2)  # type: ignore[arg-type]

    run("asyncio", main())


def test_a_service_that_is_gone_is_an_error_at_once(pair: Pair) -> None:
    """T4."""

    async def main() -> None:
        service = make_service()
        async with Client(pair[1], [(pair[0].address, PORT)]) as client:
            for _ in range(2):
                async with service.serving(pair[0], PORT):
                    assert await client.call("add", 1) == 2
                with pytest.raises(errors.NdpError):
                    await client.call("add", 1)

    run("asyncio", main())
