# Written by bindings/make_stubs.py from core.cdef.h. Do not edit: make stubs
from collections.abc import Callable, Iterator
from typing import Final, Generic, Literal, Self, TypeVar, overload

from typing_extensions import Buffer

_T = TypeVar("_T")

class CData:
    """What every value that C owns or sees has in common."""

    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...

class Null(CData):
    """The type of ffi.NULL."""

class Pointer(CData, Generic[_T]):
    """A pointer to, or an array of, values that are not structs."""

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Pointer[_T]: ...
    def __setitem__(self, index: int | slice, value: _T | list[_T] | bytes) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_T]: ...

class Struct(CData):
    """A struct, a pointer to one, or an array of them: C data has the same syntax for all."""

    def __getitem__(self, index: int) -> Self: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Self]: ...

class CField:
    """A field of a struct type."""

    offset: Final[int]
    bitsize: Final[int]
    type: Final[CType]

class CType:
    """A C type, as ffi.typeof returns it."""

    kind: Final[str]
    cname: Final[str]
    fields: Final[list[tuple[str, CField]]]
    item: Final[CType]
    length: Final[int]

class CBuffer(Buffer):
    """The bytes behind C data."""

    def __getitem__(self, index: slice) -> bytes: ...
    def __setitem__(self, index: slice, value: bytes) -> None: ...
    def __len__(self) -> int: ...

_C = TypeVar("_C", bound=CData)
_S = TypeVar("_S", bound=Struct)

class nd_counter_text(Struct):
    name: Pointer[bytes]
    help: Pointer[bytes]

class nd_counters_table(Struct):
    group: Pointer[bytes]
    texts: nd_counter_text
    count: int

class nd_error(Struct):
    code: int
    text: Pointer[bytes]

class nd_ndp_header(Struct):
    connection: int
    sequence: int
    pull: int
    service: int
    reserved: int
    message_bytes: int
    offset: int
    message: int
    backlog: int

class nd_homa_header(Struct):
    sender_id: int
    source_port: int
    target_port: int
    cutoff_version: int
    retransmit: int
    speaker: int
    note: int
    level: int
    message_bytes: int
    offset: int
    length: int
    ack_count: int
    ack_ports: Pointer[int]
    ack_ids: Pointer[int]
    cutoffs: Pointer[int]

class nd_packet(Struct):
    next: int
    source: int
    target: int
    rank: int
    wire_bytes: int
    header_bytes: int
    payload_bytes: int
    path: int
    flow: int
    protocol: int
    type: int
    priority: int
    marks: int
    flags: int
    spare: int
    payload: Pointer[int]
    ndp: nd_ndp_header
    homa: nd_homa_header

class nd_command(Struct):
    kind: int
    priority: int
    app: int
    peer: int
    port: int
    source_port: int
    bytes: int
    id: int
    message: int
    cookie: int
    deadline: int
    payload: Pointer[int]

class nd_event(Struct):
    kind: int
    priority: int
    app: int
    error: int
    peer: int
    port: int
    spare: int
    bytes: int
    detail: int
    id: int
    message: int
    cookie: int
    payload: Pointer[int]

class nd_transport_ops(Struct):
    name: Pointer[bytes]
    protocol: int
    counters_table: nd_counters_table

class nd_homa_config(Struct):
    mss_bytes: int
    data_header_bytes: int
    control_bytes: int
    rtt_bytes: int
    window_bytes: int
    max_incoming_bytes: int
    unscheduled_max_bytes: int
    message_bytes_max: int
    window_dynamic: bool
    basic: bool
    own_cutoffs_first: bool
    first_priority: int
    levels: int
    cutoff_mode: int
    unscheduled_levels: int
    scheduled_levels: int
    overcommit: int
    cutoffs: Pointer[int]
    learn_ns: int
    learn_messages: int
    send_fifo_permille: int
    grant_fifo_permille: int
    grant_fifo_bytes: int
    incast_rpcs: int
    incast_bytes: int
    resend_ns: int
    resends_max: int
    need_ack_ns: int
    need_ack_ns_max: int
    need_acks_max: int
    cutoffs_ns: int
    done_ns: int
    rpcs_max: int
    server_rpcs_max: int
    peer_rpcs_max: int
    peers_max: int
    ports_max: int
    apps_max: int
    gaps_max: int
    message_gaps_max: int
    replies_max: int
    done_max: int
    at_least_once: bool
    unknown_resend: bool
    freeze_enabled: bool
    first_id: int

class nd_homa_usage(Struct):
    client_rpcs: int
    server_rpcs: int
    closed_rpcs: int
    peers: int
    gaps: int
    active: int
    grantable: int
    starved: int
    done: int
    incoming: int
    degree: int
    unscheduled_levels: int
    scheduled_levels: int
    cutoff_version: int
    cutoffs: Pointer[int]

class nd_queue_ops(Struct):
    name: Pointer[bytes]

class nd_rig_endpoint(Struct):
    ...

class nd_rig_queue(Struct):
    ...

class FFI:
    """The cffi object of this module."""

    NULL: Final[Null]
    def string(self, cdata: CData, maxlen: int = ...) -> bytes: ...
    def buffer(self, cdata: CData, size: int = ...) -> CBuffer: ...
    def memmove(self, dest: CData | Buffer, src: CData | Buffer, n: int) -> None: ...
    def sizeof(self, cdecl: str | CData | CType) -> int: ...
    def typeof(self, cdecl: str | CData) -> CType: ...
    def addressof(self, cdata: _S, *fields: str | int) -> _S: ...
    def gc(self, cdata: _C, destructor: Callable[[_C], None], size: int = ...) -> _C: ...
    @overload
    def new(self, cdecl: Literal["struct nd_counter_text *"], init: object = ...) -> nd_counter_text: ...
    @overload
    def new(self, cdecl: Literal["struct nd_counters_table *"], init: object = ...) -> nd_counters_table: ...
    @overload
    def new(self, cdecl: Literal["struct nd_error *"], init: object = ...) -> nd_error: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_header *"], init: object = ...) -> nd_ndp_header: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_header *"], init: object = ...) -> nd_homa_header: ...
    @overload
    def new(self, cdecl: Literal["struct nd_packet *"], init: object = ...) -> nd_packet: ...
    @overload
    def new(self, cdecl: Literal["struct nd_command *"], init: object = ...) -> nd_command: ...
    @overload
    def new(self, cdecl: Literal["struct nd_event *"], init: object = ...) -> nd_event: ...
    @overload
    def new(self, cdecl: Literal["struct nd_transport_ops *"], init: object = ...) -> nd_transport_ops: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_config *"], init: object = ...) -> nd_homa_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_usage *"], init: object = ...) -> nd_homa_usage: ...
    @overload
    def new(self, cdecl: Literal["struct nd_queue_ops *"], init: object = ...) -> nd_queue_ops: ...
    @overload
    def new(self, cdecl: Literal["char *"], init: object = ...) -> Pointer[bytes]: ...
    @overload
    def new(self, cdecl: Literal["uint8_t *"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint16_t *"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint32_t *"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint64_t *"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["struct nd_counter_text[]"], init: object = ...) -> nd_counter_text: ...
    @overload
    def new(self, cdecl: Literal["struct nd_counters_table[]"], init: object = ...) -> nd_counters_table: ...
    @overload
    def new(self, cdecl: Literal["struct nd_error[]"], init: object = ...) -> nd_error: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_header[]"], init: object = ...) -> nd_ndp_header: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_header[]"], init: object = ...) -> nd_homa_header: ...
    @overload
    def new(self, cdecl: Literal["struct nd_packet[]"], init: object = ...) -> nd_packet: ...
    @overload
    def new(self, cdecl: Literal["struct nd_command[]"], init: object = ...) -> nd_command: ...
    @overload
    def new(self, cdecl: Literal["struct nd_event[]"], init: object = ...) -> nd_event: ...
    @overload
    def new(self, cdecl: Literal["struct nd_transport_ops[]"], init: object = ...) -> nd_transport_ops: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_config[]"], init: object = ...) -> nd_homa_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_usage[]"], init: object = ...) -> nd_homa_usage: ...
    @overload
    def new(self, cdecl: Literal["struct nd_queue_ops[]"], init: object = ...) -> nd_queue_ops: ...
    @overload
    def new(self, cdecl: Literal["char[]"], init: object = ...) -> Pointer[bytes]: ...
    @overload
    def new(self, cdecl: Literal["uint8_t[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint16_t[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint32_t[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint64_t[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["void *[]"], init: object = ...) -> Pointer[CData]: ...
    @overload
    def cast(self, cdecl: Literal["char *"], value: CData | int) -> Pointer[bytes]: ...
    @overload
    def cast(self, cdecl: Literal["uint8_t *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["uint16_t *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["uint32_t *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["uint64_t *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["void *"], value: CData | int) -> CData: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_counter_text[]"], data: Buffer, require_writable: bool = ...) -> nd_counter_text: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_counters_table[]"], data: Buffer, require_writable: bool = ...) -> nd_counters_table: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_error[]"], data: Buffer, require_writable: bool = ...) -> nd_error: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_ndp_header[]"], data: Buffer, require_writable: bool = ...) -> nd_ndp_header: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_homa_header[]"], data: Buffer, require_writable: bool = ...) -> nd_homa_header: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_packet[]"], data: Buffer, require_writable: bool = ...) -> nd_packet: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_command[]"], data: Buffer, require_writable: bool = ...) -> nd_command: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_event[]"], data: Buffer, require_writable: bool = ...) -> nd_event: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_transport_ops[]"], data: Buffer, require_writable: bool = ...) -> nd_transport_ops: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_homa_config[]"], data: Buffer, require_writable: bool = ...) -> nd_homa_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_homa_usage[]"], data: Buffer, require_writable: bool = ...) -> nd_homa_usage: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_queue_ops[]"], data: Buffer, require_writable: bool = ...) -> nd_queue_ops: ...
    @overload
    def from_buffer(self, cdecl: Literal["char[]"], data: Buffer, require_writable: bool = ...) -> Pointer[bytes]: ...
    @overload
    def from_buffer(self, cdecl: Literal["uint8_t[]"], data: Buffer, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["uint16_t[]"], data: Buffer, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["uint32_t[]"], data: Buffer, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["uint64_t[]"], data: Buffer, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["void *[]"], data: Buffer, require_writable: bool = ...) -> Pointer[CData]: ...

class Lib:
    """Functions, variables and constants of the core."""

    ND_PROTO_OTHER: Final[int]
    ND_PROTO_NDP: Final[int]
    ND_PROTO_HOMA: Final[int]
    ND_PROTO_COUNT: Final[int]
    ND_MARK_ECT: Final[int]
    ND_MARK_CE: Final[int]
    ND_MARK_TRIMMABLE: Final[int]
    ND_MARK_TRIMMED: Final[int]
    ND_MARK_LAST_HOP: Final[int]
    ND_MARK_BOUNCED: Final[int]
    ND_MARK_CONTROL: Final[int]
    ND_MARK_FLOOD: Final[int]
    ND_NDP_DATA: Final[int]
    ND_NDP_ACK: Final[int]
    ND_NDP_NACK: Final[int]
    ND_NDP_PULL: Final[int]
    ND_NDP_CLOSE: Final[int]
    ND_HOMA_DATA: Final[int]
    ND_HOMA_GRANT: Final[int]
    ND_HOMA_RESEND: Final[int]
    ND_HOMA_RPC_UNKNOWN: Final[int]
    ND_HOMA_BUSY: Final[int]
    ND_HOMA_CUTOFFS: Final[int]
    ND_HOMA_FREEZE: Final[int]
    ND_HOMA_NEED_ACK: Final[int]
    ND_HOMA_ACK: Final[int]
    ND_COMMAND_LISTEN: Final[int]
    ND_COMMAND_UNLISTEN: Final[int]
    ND_COMMAND_CONNECT: Final[int]
    ND_COMMAND_SEND: Final[int]
    ND_COMMAND_CLOSE: Final[int]
    ND_COMMAND_RESET: Final[int]
    ND_COMMAND_REQUEST: Final[int]
    ND_COMMAND_REPLY: Final[int]
    ND_COMMAND_CANCEL: Final[int]
    ND_COMMAND_RELEASE: Final[int]
    ND_COMMAND_PATHS: Final[int]
    ND_COMMAND_DETACH: Final[int]
    ND_COMMAND_WINDOW: Final[int]
    ND_EVENT_ACCEPTED: Final[int]
    ND_EVENT_MESSAGE: Final[int]
    ND_EVENT_REQUEST: Final[int]
    ND_EVENT_RESPONSE: Final[int]
    ND_EVENT_SENT: Final[int]
    ND_EVENT_FAILED: Final[int]
    ND_EVENT_CLOSED: Final[int]
    ND_CLASS_CONTROL: Final[int]
    ND_CLASS_DATA: Final[int]
    ND_HOMA_CUTOFFS_AUTO: Final[int]
    ND_HOMA_CUTOFFS_FIXED: Final[int]
    ND_HOMA_CUTOFFS_STATIC: Final[int]
    nd_homa_ops: Final[nd_transport_ops]
    ND_KEPT: Final[int]
    ND_TRIMMED: Final[int]
    ND_DROPPED: Final[int]
    ND_RETURNED: Final[int]
    nd_queue_counters_table: Final[nd_counters_table]
    def nd_homa_config_default(self, a0: int, a1: int, /) -> nd_homa_config: ...
    def nd_homa_config_paper(self, a0: int, a1: int, /) -> nd_homa_config: ...
    def nd_homa_usage(self, a0: CData, a1: nd_homa_usage | Null, /) -> None: ...
    def nd_rig_packet_new(self, ) -> nd_packet: ...
    def nd_rig_packet_free(self, a0: nd_packet | Null, /) -> None: ...
    def nd_rig_endpoint_new(self, a0: nd_transport_ops | Null, a1: CData, a2: int, a3: int, a4: int, a5: nd_error | Null, /) -> nd_rig_endpoint: ...
    def nd_rig_endpoint_free(self, a0: nd_rig_endpoint | Null, /) -> None: ...
    def nd_rig_endpoint_submit(self, a0: nd_rig_endpoint | Null, a1: nd_command | Null, a2: int, /) -> int: ...
    def nd_rig_endpoint_receive(self, a0: nd_rig_endpoint | Null, a1: nd_packet | Null, a2: int, /) -> None: ...
    def nd_rig_endpoint_transmit(self, a0: nd_rig_endpoint | Null, a1: nd_packet | Null, a2: int, a3: int, /) -> bool: ...
    def nd_rig_endpoint_deadline(self, a0: nd_rig_endpoint | Null, /) -> int: ...
    def nd_rig_endpoint_on_deadline(self, a0: nd_rig_endpoint | Null, a1: int, /) -> None: ...
    def nd_rig_endpoint_events(self, a0: nd_rig_endpoint | Null, a1: nd_event | Null, a2: int, /) -> int: ...
    def nd_rig_endpoint_counters(self, a0: nd_rig_endpoint | Null, /) -> Pointer[int]: ...
    def nd_rig_endpoint_audit(self, a0: nd_rig_endpoint | Null, /) -> Pointer[bytes]: ...
    def nd_rig_endpoint_rx_used(self, a0: nd_rig_endpoint | Null, /) -> int: ...
    def nd_rig_endpoint_engine(self, a0: nd_rig_endpoint | Null, /) -> CData: ...
    def nd_rig_queue_new(self, a0: nd_queue_ops | Null, a1: CData, a2: int, a3: int, a4: nd_error | Null, /) -> nd_rig_queue: ...
    def nd_rig_queue_free(self, a0: nd_rig_queue | Null, /) -> None: ...
    def nd_rig_queue_enqueue(self, a0: nd_rig_queue | Null, a1: nd_packet | Null, a2: int, /) -> int: ...
    def nd_rig_queue_dequeue(self, a0: nd_rig_queue | Null, a1: nd_packet | Null, a2: int, /) -> bool: ...
    def nd_rig_queue_dropped(self, a0: nd_rig_queue | Null, a1: nd_packet | Null, /) -> bool: ...
    def nd_rig_queue_returned(self, a0: nd_rig_queue | Null, a1: nd_packet | Null, /) -> bool: ...
    def nd_rig_queue_packets(self, a0: nd_rig_queue | Null, /) -> int: ...
    def nd_rig_queue_bytes(self, a0: nd_rig_queue | Null, /) -> int: ...
    def nd_rig_queue_counters(self, a0: nd_rig_queue | Null, /) -> Pointer[int]: ...
    def nd_rig_queue_audit(self, a0: nd_rig_queue | Null, /) -> Pointer[bytes]: ...

ffi: Final[FFI]
lib: Final[Lib]
