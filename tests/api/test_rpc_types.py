"""Values of remote calls are of the types that are annotated, as type checkers take for granted."""

from __future__ import annotations

import pickle
import typing
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, NewType

import pytest
from called import PORT, Pair, by_loop, with_client
from loops import run

from ndpstack._rpc_types import argument_converter, result_converter
from ndpstack.rpc import Client, RemoteError, Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from decimal import Decimal

Name = NewType("Name", str)


@dataclass
class Point:
    """What has to be made."""

    x: int
    y: int = 0


@dataclass
class Line:
    """What holds others."""

    begin: Point
    end: Point
    marks: tuple[float, ...] = ()
    length: int = field(init=False)

    def __post_init__(self) -> None:
        self.length = abs(self.end.x - self.begin.x)


@dataclass
class Tree:
    """What holds its own kind."""

    value: Point | None
    children: list[Tree]


class Colour(Enum):
    """What travels as its value."""

    RED = "red"
    MIX = (1, (2, 3))


class Size(IntEnum):
    """What codecs take for a number."""

    SMALL = 1
    LARGE = 2


class Dot(NamedTuple):
    """What travels as a list, and may hold its own kind."""

    at: Point
    colour: Colour = Colour.RED
    next: Dot | None = None


Bare = namedtuple("Bare", "x y")  # noqa: PYI024 (also without annotations)


class Shapes:
    """Methods of the service and of its stub alike; each returns what it was given."""

    async def line(self, line: Line) -> Line:
        """Fields that are dataclasses, and one that is not passed to __init__()."""
        assert isinstance(line.begin, Point)
        return line

    async def points(self, points: list[Point]) -> list[Point]:
        """A list of what has to be made."""
        assert all(isinstance(point, Point) for point in points)
        return points

    async def maybe(self, point: Point | None) -> Point | None:
        """What may be missing."""
        assert point is None or isinstance(point, Point)
        return point

    async def pair(self, pair: tuple[int, Point]) -> tuple[int, Point]:
        """Each item of its own type."""
        assert isinstance(pair, tuple)
        return pair

    async def by_name(self, points: dict[Name, tuple[Point, ...]]) -> dict[Name, tuple[Point, ...]]:
        """Several layers."""
        assert all(isinstance(each, tuple) for each in points.values())
        return points

    async def tree(self, tree: Tree) -> Tree:
        """As deep as it happens to be."""
        return tree

    async def each(self, *points: Point) -> AsyncIterator[Point]:
        """Values of a stream."""
        for point in points:
            assert isinstance(point, Point)
            yield point

    async def named(self, *, first: Point, **others: Point) -> dict[str, Point]:
        """Arguments by name."""
        assert all(isinstance(point, Point) for point in (first, *others.values()))
        return {"first": first, **others}

    async def dot(self, dot: Dot) -> Dot:
        """A named tuple of its own kind."""
        assert isinstance(dot, Dot)
        return dot

    async def bare(self, bare: Bare) -> Bare:
        """One whose items come as they are."""
        assert isinstance(bare, Bare)
        return bare

    async def colour(self, colours: list[Colour], size: Size) -> tuple[Colour, Size]:
        """Members of enums."""
        assert all(isinstance(each, Colour) for each in colours)
        assert isinstance(size, Size)
        return colours[0], size

    async def buffer(self, data: bytearray) -> bytearray:
        """What bytes are made into."""
        data.append(0)
        return data

    async def view(self, data: memoryview | None) -> memoryview:
        """The same of another kind."""
        assert isinstance(data, memoryview)
        return data

    async def width(self, points: list[Point], name: Literal["x", "y"], unit: float) -> int | float:
        """What comes as it is, beside what does not."""
        return max(point.x if name == "x" else point.y for point in points) / unit


def make_service() -> Service:
    service, shapes = Service("shapes"), Shapes()
    for name in vars(Shapes):
        if not name.startswith("_"):
            service.method(getattr(shapes, name))
    return service


@by_loop
def test_values_are_what_they_are_annotated_as_at_both_ends(kind: str, pair: Pair) -> None:
    async def body(client: Client) -> None:
        shapes = client.stub(Shapes, timeout=20)
        line = Line(Point(1, 2), Point(4), (0.5, 1.0))
        assert await shapes.line(line) == line
        assert await shapes.points([Point(1), Point(2)]) == [Point(1), Point(2)]
        assert await shapes.maybe(Point(3)) == Point(3)
        assert await shapes.maybe(None) is None
        assert await shapes.pair((1, Point(2))) == (1, Point(2))
        layers = {Name("a"): (Point(1), Point(2)), Name("b"): ()}
        assert await shapes.by_name(layers) == layers
        tree = Tree(None, [Tree(Point(1), []), Tree(Point(2), [Tree(None, [])])])
        assert await shapes.tree(tree) == tree
        assert [each async for each in shapes.each(Point(1), Point(2))] == [Point(1), Point(2)]
        named = {"first": Point(1), "second": Point(2)}
        assert await shapes.named(first=Point(1), second=Point(2)) == named
        assert await shapes.width([Point(1), Point(3)], "x", 2) == 1.5

    with_client(kind, pair, make_service(), body)


@by_loop
def test_classes_that_the_default_codec_does_not_know_are_made(kind: str, pair: Pair) -> None:
    async def body(client: Client) -> None:
        shapes = client.stub(Shapes, timeout=20)
        dot = Dot(Point(1), Colour.MIX, Dot(Point(2)))
        assert await shapes.dot(dot) == dot
        assert await shapes.bare(Bare(1, 2)) == Bare(1, 2)
        made = await shapes.colour([Colour.MIX, Colour.RED], Size.LARGE)
        assert made == (Colour.MIX, Size.LARGE)
        assert isinstance(made[1], Size)
        assert await shapes.buffer(bytearray(b"ab")) == b"ab\0"
        assert isinstance(await shapes.buffer(bytearray()), bytearray)
        assert bytes(await shapes.view(memoryview(b"ab"))) == b"ab"
        assert await client.call("dot", [{"x": 1}]) == [{"x": 1, "y": 0}, "red", None]

    with_client(kind, pair, make_service(), body)


def test_what_does_not_fit_is_an_error(pair: Pair) -> None:
    class Other:
        async def points(self, points: list[object]) -> list[tuple[int, int, int]]:
            """Another idea of the same method."""
            raise NotImplementedError

        async def line(self, line: Line) -> Point:
            """Another idea of its result."""
            raise NotImplementedError

    async def body(client: Client) -> None:
        for wrong, reason in (
            ([[1]], "list came where Point is due"),
            ({"x": 1}, "dict came where list is due"),
            ([{"x": 1, "z": 2}], "unexpected keyword argument 'z'"),
        ):
            with pytest.raises(RemoteError, match=f"TypeError: .*{reason}"):
                await client.call("points", wrong)
        for method, value, reason in (
            ("dot", {}, "TypeError: dict came where Dot is due"),
            ("dot", [], "TypeError: .*missing 1 required positional argument: 'at'"),
            ("bare", [1, 2, 3], "TypeError: .*takes 3 positional arguments but 4 were given"),
            ("colour", ["blue"], "ValueError: 'blue' is not a valid Colour"),
            ("buffer", "text", "TypeError: str came where bytearray is due"),
        ):
            with pytest.raises(RemoteError, match=reason):
                await client.call(method, value, *([1] if method == "colour" else []))
        with pytest.raises(RemoteError, match="TypeError: 1 items came where a tuple of 2 is due"):
            await client.call("pair", [1])
        other = client.stub(Other)
        with pytest.raises(TypeError, match="dict came where tuple is due"):
            await other.points([Point(1)])
        with pytest.raises(TypeError, match="unexpected keyword argument 'begin'"):
            await other.line(Line(Point(1), Point(2)))
        assert await client.call("points", [Point(1)]) == [{"x": 1, "y": 0}]

    with_client("asyncio", pair, make_service(), body)


class Pickle:
    """A codec that knows all types."""

    def pack(self, value: object) -> bytes:
        return pickle.dumps(value)

    def unpack(self, data: memoryview) -> object:
        return pickle.loads(data)


def test_classes_that_the_codec_knows_are_left_to_it(pair: Pair) -> None:
    class Api:
        async def half(self, number: Fraction | None, point: Point) -> Fraction:
            """A class that is no dataclass, and one that is."""
            raise NotImplementedError

    async def half(number: Fraction | None, point: Point) -> Fraction:
        assert number is not None
        assert isinstance(point, Point)
        return number / 2

    services = [Service("pickle", codec=Pickle()), Service("msgpack")]
    for service in services:
        service.method(half)

    async def main() -> None:
        here = pair[0].address
        async with (
            services[0].serving(pair[0], PORT),
            services[1].serving(pair[0], PORT + 1),
            Client(pair[1], [(here, PORT)], codec=Pickle()) as client,
            Client(pair[1], [(here, PORT + 1)]) as without,
        ):
            assert await client.stub(Api).half(Fraction(1), Point(1)) == Fraction(1, 2)
            with pytest.raises(TypeError, match="can not serialize 'Fraction' object"):
                await without.stub(Api).half(Fraction(1), Point(1))

    run("asyncio", main())


async def unlisted(value: set[int]) -> Callable[[], int]:
    raise NotImplementedError


async def ambiguous(value: Point | int) -> dict[Point, int]:
    raise NotImplementedError


@dataclass
class Keyed:
    """What names itself as a key."""

    others: dict[Keyed, int]


async def keyed(value: Keyed) -> Keyed:
    raise NotImplementedError


async def unresolved(value: list[Decimal]) -> Decimal:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "argument", "result"),
    [
        (unlisted, r"set\[int\]", r"Callable\[\[\], int\]"),
        (ambiguous, r"Point \| int", r"dict\[.*Point, int\]"),
        (keyed, r"dict\[.*Keyed, int\]", r"dict\[.*Keyed, int\]"),
        (unresolved, "'Decimal' is not defined", "'Decimal' is not defined"),
    ],
)
def test_annotations_that_no_value_can_be_made_for_are_named(
    function: Callable[..., object], argument: str, result: str, pair: Pair
) -> None:
    name = function.__name__

    async def make_stub() -> None:
        async with Client(pair[1], [(pair[0].address, PORT)]) as client:
            client.stub(type("Api", (), {"method": function}))

    with pytest.raises(TypeError, match=rf"argument value of {name}\(\): .*{argument}"):
        Service("test").method(function)
    with pytest.raises(TypeError, match=rf"result of {name}\(\): .*{result}"):
        run("asyncio", make_stub())


async def simple(
    a: int, b: str | None, c: list[bytes], *d: float, e: dict[str, list[int]], **f: object
) -> list[int | None]:
    raise NotImplementedError


async def bytes_like(data: bytes | memoryview | None) -> bytes | bytearray:
    raise NotImplementedError


async def bare(
    a: typing.Sequence,  # type: ignore[type-arg]
    b: typing.Mapping,  # type: ignore[type-arg]
) -> typing.Iterable:  # type: ignore[type-arg]
    raise NotImplementedError


async def unannotated(a, *b, c=None, **d):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN201
    raise NotImplementedError


@pytest.mark.parametrize("function", [simple, bytes_like, bare, unannotated])
def test_what_comes_as_it_is_costs_nothing(function: Callable[..., object]) -> None:
    assert argument_converter(function) is None
    assert result_converter(function) is None
