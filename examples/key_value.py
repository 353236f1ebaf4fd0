"""A key-value service over RPC, its typed client, and what happens when a key is missing."""

import asyncio
from collections.abc import AsyncIterator

import ndpstack
from ndpstack.rpc import Client, RemoteError, Service

PORT = 4000


class Store:
    """What the service offers; clients make a stub of it."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    async def put(self, key: str, value: bytes) -> None:
        """Sets the value of a key."""
        self._values[key] = value

    async def get(self, key: str) -> bytes:
        """The value of a key; KeyError when there is none."""
        return self._values[key]

    async def names(self) -> AsyncIterator[str]:
        """All keys, one by one."""
        for key in sorted(self._values):
            yield key


def make_service() -> Service:
    """A service with the methods of a new store."""
    store, service = Store(), Service("store")
    for method in (store.put, store.get, store.names):
        service.method(method)
    return service


async def main() -> None:
    """Serves and asks, in one process."""
    with ndpstack.memory_pair() as (here, there):
        servers = [(there.address, PORT)]
        async with make_service().serving(there, PORT), Client(here, servers) as client:
            store = client.stub(Store, timeout=5)
            await store.put("colour", b"blue")
            await store.put("shape", b"round")
            print((await store.get("colour")).decode())
            print([key async for key in store.names()])
            try:
                await store.get("size")
            except RemoteError as error:
                print(error.kind, error.text)


if __name__ == "__main__":
    asyncio.run(main())
