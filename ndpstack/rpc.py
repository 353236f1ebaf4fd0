"""Remote calls by name, over Homa: services, clients, stubs.

    service = Service("kv")

    @service.method
    async def get(key: str) -> bytes: ...

    await service.serve(stack, 4000)                      # at the server

    async with Client(stack, [("10.0.0.1", 4000)]) as kv:  # at the client
        await kv.call("get", "name", timeout=0.1)

Values are packed by msgpack unless another codec is given. Deadlines travel with the call, a call
that is cancelled is cancelled at the server, and errors keep their type's name and message.
"""

from ndpstack._rpc_client import Client as Client
from ndpstack._rpc_client import Stub as Stub
from ndpstack._rpc_deadline import deadline as deadline
from ndpstack._rpc_metrics import Metrics as Metrics
from ndpstack._rpc_server import Service as Service
from ndpstack._rpc_wire import Codec as Codec
from ndpstack._rpc_wire import MsgpackCodec as MsgpackCodec
from ndpstack._rpc_wire import RemoteError as RemoteError
