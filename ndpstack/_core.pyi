# Written by bindings/make_stubs.py from the *.cdef.h. Do not edit: make stubs
from collections.abc import Callable, Iterator
from typing import Final, Generic, Literal, Protocol, Self, TypeVar, overload

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

class Array(Protocol):
    """numpy arrays; their stubs do not call them Buffer before Python 3.12."""

    @property
    def __array_interface__(self) -> dict[str, object]: ...

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

class nd_rng(Struct):
    key: int
    draw: int

class nd_ndp_header(Struct):
    pull: int
    base: int
    service: int
    sequence: int
    offset: int
    message_bytes: int
    connection: int
    backlog: int
    message: int

class nd_homa_header(Struct):
    sender_id: int
    message_bytes: int
    length: int
    offset: int
    target_port: int
    source_port: int
    speaker: int
    note: int
    retransmit: int
    level: int
    cutoff_version: int
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
    flow: int
    protocol: int
    marks: int
    payload_bytes: int
    path: int
    type: int
    flags: int
    priority: int
    spare: int
    payload: Pointer[int]
    ndp: nd_ndp_header
    homa: nd_homa_header

class nd_frame_config(Struct):
    ndp_port: int
    homa_port: int
    source_port_first: int
    source_port_count: int
    dscp_data: int
    dscp_trimmable: int
    dscp_trimmed: int
    dscp_trimmed_last_hop: int
    dscp_control: int
    dscp_homa: Pointer[int]
    pcp: Pointer[int]
    hop_limit: int
    framing_bytes: int
    verify: int
    homa_in_udp: bool
    homa_checksum: bool

class nd_frame_peer(Struct):
    target_mac: Pointer[int]
    source_mac: Pointer[int]
    source: Pointer[int]
    target: Pointer[int]
    vlan: int

class nd_frame_template(Struct):
    ...

class nd_frame_trim(Struct):
    size: int
    dscp: int
    pcp: int
    location: int

class nd_pcapng_packet(Struct):
    interface: int
    time: int
    frame: Pointer[int]
    captured_bytes: int
    original_bytes: int
    direction: int
    comment: Pointer[bytes]

class nd_field(Struct):
    name: Pointer[bytes]
    text: Pointer[bytes]
    types: int
    bit_offset: int
    bit_width: int
    repeat: int
    bit_stride: int
    protocol: int
    view: int

class nd_field_value(Struct):
    field: Pointer[bytes]
    name: Pointer[bytes]
    text: Pointer[bytes]
    value: int
    protocol: int

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
    protocol: int
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

class nd_paths_config(Struct):
    scoreboard: bool
    judge_feedbacks: int
    nack_percent: int
    mean_percent: int
    bounce_nacks: int
    loss_min: int
    loss_percent: int
    avoid_max: int

class nd_ndp_config(Struct):
    data_header_bytes: int
    control_bytes: int
    control_max: int
    initial_window: int
    window_packets: int
    futile_max: int
    rto_min_ns: int
    repull_ns: int
    congested_ns: int
    ack_carries_pull: bool
    nack_carries_pull: bool
    score: nd_paths_config
    link_bps: int
    mss_bytes: int
    pull_slack_ns: int
    rto_initial_ns: int
    rto_max_ns: int
    solicit_ns: int
    give_up_ns: int
    bounce_history: int
    bounce_ack_divisor: int
    time_wait_ns: int
    reset_wait_ns: int
    keepalive_ns: int
    paths: int
    paths_max: int
    path_sets_max: int
    message_bytes_max: int
    connections_max: int
    time_wait_max: int
    listeners_max: int
    listen_backlog: int
    peers_max: int
    sending_max: int
    messages_max: int
    connection_messages_max: int
    receive_messages_max: int

class nd_ndp_usage(Struct):
    connections: int
    remembered: int
    messages: int
    receive_messages: int
    pulls: int
    control: int
    peers: int

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
    by_length: bool
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
    resend_jitter_permille: int
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
    one_way: bool
    unknown_resend: bool
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
    classes: Pointer[Pointer[bytes]]

class nd_limit(Struct):
    bytes: int
    packets: int

class nd_shared_config(Struct):
    total_bytes: int
    alpha_256: int

class nd_shared(Struct):
    total_bytes: int
    alpha_256: int
    used_bytes: int
    used_max_bytes: int
    refused: int

class nd_droptail_config(Struct):
    limit: nd_limit
    shared: nd_shared

class nd_ecn_config(Struct):
    limit: nd_limit
    threshold: nd_limit
    shared: nd_shared

class nd_cut_payload_config(Struct):
    threshold: nd_limit
    limit: nd_limit
    shared: nd_shared
    last_hop: bool

class nd_ndp_queue_config(Struct):
    data: nd_limit
    headers: nd_limit
    control_reserve_bytes: int
    header_weight: int
    data_weight: int
    strict: bool
    return_to_sender: bool
    last_hop: bool
    empty_to_headers: bool
    victim: int
    shared: nd_shared

class nd_strict_config(Struct):
    levels: int
    level: nd_limit
    total: nd_limit
    weights: Pointer[int]
    shared: nd_shared

class nd_pfabric_config(Struct):
    limit: nd_limit
    flow_bits: int

class nd_fair_child(Struct):
    ops: nd_queue_ops
    config: CData
    quantum_bytes: int

class nd_fair_config(Struct):
    child: nd_fair_child
    child_of: Pointer[int]

class nd_flow(Struct):
    start_ps: int
    bytes: int
    reply_bytes: int
    source: int
    target: int
    starts_on: int
    on_sent: int
    on_received: int
    kind: int
    priority: int
    engine: int
    background: int
    spare: int

class nd_flow_row(Struct):
    start_ps: int
    first_ps: int
    received_ps: int
    done_ps: int
    best_ps: int
    payload_bytes: int
    packets: int
    lag_ns: int
    wait_ns: int
    error: int
    state: int
    spare: int

class nd_trigger(Struct):
    needs: int

class nd_sizes(Struct):
    bytes: Pointer[int]
    cumulative: Pointer[int]
    count: int
    linear: int

class nd_traffic_open(Struct):
    first_source: int
    sources: int
    first_target: int
    targets: int
    gap_ps: int
    until_ps: int
    flows_max: int
    spare: int
    sizes: nd_sizes

class nd_traffic_closed(Struct):
    hosts: int
    slots: int
    rounds: int
    spare: int
    think_ps: int
    sizes: nd_sizes

class nd_cable(Struct):
    rate_bps: int
    delay_ps: int

class nd_topology_edge(Struct):
    a: int
    b: int
    cable: nd_cable

class nd_topology_config(Struct):
    kind: int
    pods: int
    edges: int
    hosts: int
    aggs: int
    uplinks: int
    switches: int
    edge_count: int
    spare: int
    edge_list: nd_topology_edge
    cables: nd_cable
    latency_ps: Pointer[int]

class nd_topology(Struct):
    hosts: int
    switches: int
    ports: int
    agg_base: int
    core_base: int
    paths_max: int

class nd_hops(Struct):
    first: int
    count: int
    digit: int
    ports: Pointer[int]

class nd_sim_engine(Struct):
    ops: nd_transport_ops
    configs: Pointer[CData]
    host_class: Pointer[int]
    classes: int
    message_bytes_max: int
    payload_bytes_max: int
    overhead_bytes: int
    wire_bytes_min: int
    service: int

class nd_phantom_config(Struct):
    rate_bps: int
    threshold_bytes: int
    quantum: int

class nd_sim_egress(Struct):
    ops: nd_queue_ops
    config: CData
    config_bytes: int
    shared_offset: int
    shared_bytes: int
    shared_alpha_256: int
    phantom: nd_phantom_config

class nd_sim_delay(Struct):
    fixed_ps: int
    quantiles_ps: Pointer[int]
    count: int
    spare: int

class nd_sim_change(Struct):
    time_ps: int
    value: int
    port: int
    kind: int
    both_ways: int

class nd_sim_probes(Struct):
    goodput_bin_ps: int
    goodput_bins: int
    goodput_by_flow: int
    queues: int
    delays: int
    waste: int
    timeline: int
    timeline_host: int
    pcap_port: int
    spare: int
    pcap_path: Pointer[bytes]

class nd_sim_config(Struct):
    seed: int
    topology: nd_topology_config
    engines: nd_sim_engine
    engine_count: int
    route: int
    egress: nd_sim_egress
    nic_packets: int
    packet_bytes: int
    receive_delay: nd_sim_delay
    send_delay: nd_sim_delay
    timer_delay: nd_sim_delay
    changes: nd_sim_change
    change_count: int
    packets_max: int
    events_max: int
    wire_check: int
    probes: nd_sim_probes

class nd_sim_counters(Struct):
    ...

class nd_queue_counters(Struct):
    ...

class nd_phantom_counters(Struct):
    ...

class nd_sim_depth(Struct):
    bytes_ns: int
    bytes_max: int
    packets_max: int
    changed_ps: int

class nd_sim_host_row(Struct):
    payload_bytes: int
    wire_bytes: int
    idle_ps: int
    expecting_ps: int

class nd_sim_record(Struct):
    time_ps: int
    duration_ns: int
    port: int
    packet: int
    source: int
    target: int
    flow: int
    sequence: int
    wire_bytes: int
    kind: int
    protocol: int
    type: int
    priority: int
    marks: int
    spare: int

class nd_sim(Struct):
    ...

class nd_blast_config(Struct):
    payload_bytes_max: int
    header_bytes: int
    connections_max: int
    paths: int
    trimmable: int

class nd_rig_endpoint(Struct):
    ...

class nd_rig_queue(Struct):
    ...

class nd_rig_swarm(Struct):
    ...

class nd_port_filter(Struct):
    everything: bool
    homa: bool
    udp_count: int
    udp_ports: Pointer[int]

class nd_port_memory_config(Struct):
    listen: bool

class nd_port_xdp_config(Struct):
    mode: int
    zero_copy: bool
    force: bool
    queue_first: int
    queue_count: int
    memory_bytes: int

class nd_port_config(Struct):
    backend: int
    name: Pointer[bytes]
    netns: Pointer[bytes]
    mtu: int
    rx_frames: int
    tx_frames: int
    filter: nd_port_filter
    memory: nd_port_memory_config
    xdp: nd_port_xdp_config

class nd_stack_channel_config(Struct):
    commands: int
    events: int
    send_bytes: int
    receive_bytes: int

class nd_stack_settings(Struct):
    frame: nd_frame_config
    link_bps: int
    mtu: int
    levels: int
    cutoffs: Pointer[int]

class nd_stack_config(Struct):
    ports: nd_port_config
    port_count: int
    address_v4: Pointer[int]
    address_v6: Pointer[int]
    vlan: int
    frame: nd_frame_config
    link_bps: int
    no_ndp: bool
    no_homa: bool
    ndp_config: CData
    homa_config: CData
    peers_max: int
    profile: int
    spin_ns: int
    cpu: int
    seed: int
    service: Pointer[bytes]
    service_socket: int
    channel: nd_stack_channel_config
    record: Pointer[bytes]
    record_bytes: int

class nd_replay_result(Struct):
    sent: int
    received: int
    commands: int
    turns: int
    begin: int
    end: int
    epoch: int
    state: int
    verdict: int
    port: int
    time: int
    recorded_bytes: int
    replayed_bytes: int
    recorded: Pointer[int]
    replayed: Pointer[int]

class nd_replay(Struct):
    ...

class nd_replay_frame(Struct):
    ...

class nd_app(Struct):
    ...

class nd_app_verbs(Struct):
    ...

class nd_app_reply(Struct):
    state: int
    count: int
    buffer: int
    key: int
    data: Pointer[int]

class nd_app_message(Struct):
    count: int
    peer: int
    id: int
    message: int
    sent: int
    data: Pointer[int]

class nd_exchange(Struct):
    id: int
    unsent_bytes: int
    arrived_bytes: int
    arriving_bytes: int
    heard_at: int
    peer: int
    messages: int
    unacked_packets: int
    allowed: int
    port: int
    app: int
    protocol: int
    state: int
    priority: int
    accepted: bool
    address: Pointer[int]

class nd_stack_peer(Struct):
    address: Pointer[int]
    mac: Pointer[int]
    port: int
    way: int
    lost: int
    handle: int
    used_at: int

class nd_stack_app(Struct):
    index: int
    pid: int
    held: int
    events: int
    backlog: int

class nd_port_counters(Struct):
    ...

class nd_switch_counters(Struct):
    ...

class nd_fdb_counters(Struct):
    ...

class nd_faults_counters(Struct):
    ...

class nd_wire_counters(Struct):
    ...

class nd_faults_config(Struct):
    loss: int
    corrupt: int
    duplicate: int
    reorder: int
    delay_ns: int
    reorder_ns_max: int

class nd_switch_config(Struct):
    name: Pointer[bytes]
    packets_max: int
    frame_bytes_max: int
    fdb_max: int
    routes_max: int
    fdb_aging: int
    learning: bool
    frame: nd_frame_config
    seed: int

class nd_switch_port_settings(Struct):
    discipline: nd_queue_ops
    discipline_config: CData
    rate_bps: int
    catch_up: int
    phantom: nd_phantom_config
    trim: nd_frame_trim
    faults: nd_faults_config
    mac: Pointer[int]
    off_tree: bool

class nd_worker_config(Struct):
    profile: int
    spin_ns: int
    cpu: int

class nd_worker_stats(Struct):
    rounds: int
    busy_rounds: int
    frames: int
    sleeps: int
    sleep_ns: int
    gap_ns_max: int

class nd_worker(Struct):
    ...

class nd_page_class(Struct):
    packets: int
    bytes: int
    packets_max: int
    bytes_max: int

class nd_page_port(Struct):
    name: Pointer[bytes]
    used: int
    enabled: int
    up: int
    state: int
    changes: int
    mtu: int
    classes_count: int
    phantom_bytes: int
    queue: nd_page_class
    classes: nd_page_class
    counters: nd_switch_counters
    queue_counters: nd_queue_counters
    phantom_counters: nd_phantom_counters
    faults_counters: nd_faults_counters
    port_counters: nd_port_counters

class nd_page(Struct):
    magic: int
    page_bytes: int
    port_count: int
    sequence: int
    time: int
    name: Pointer[bytes]
    packets_max: int
    packets_used: int
    packets_used_max: int
    addresses: int
    routes: int
    spare: int
    worker: nd_worker_stats
    counters: nd_switch_counters
    fdb_counters: nd_fdb_counters
    wire_counters: nd_wire_counters
    ports: nd_page_port

class nd_fdb_entry(Struct):
    key: int
    port: int
    is_static: bool
    seen: int

class nd_route_hop(Struct):
    port: int
    mac: Pointer[int]

class nd_route(Struct):
    to: int
    count: int
    hops: nd_route_hop

class nd_mirror_config(Struct):
    ports: Pointer[int]
    names: Pointer[Pointer[bytes]]
    port_count: int
    rx: bool
    tx: bool
    snap_bytes: int
    frames: int

class nd_mirror_frame(Struct):
    time: int
    captured_bytes: int
    original_bytes: int
    port: int
    direction: int
    verdict: int
    reason: int

class nd_mirror(Struct):
    ...

class nd_control_port(Struct):
    open: bool
    mode: Pointer[bytes]
    note: Pointer[bytes]
    why: Pointer[bytes]
    discipline: Pointer[bytes]
    classes: Pointer[Pointer[bytes]]
    mac: Pointer[int]

class nd_control(Struct):
    ...

class nd_port(Struct):
    ...

class nd_device(Struct):
    index: int
    mtu: int
    queues: int
    ethernet: bool
    set_up: bool
    name: Pointer[bytes]
    driver: Pointer[bytes]

class nd_xdp_occupant(Struct):
    program: int
    link: int
    seen: bool
    ours: bool
    mode: Pointer[bytes]
    keyword: Pointer[bytes]
    name: Pointer[bytes]

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
    def new(self, cdecl: Literal["struct nd_rng *"], init: object = ...) -> nd_rng: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_header *"], init: object = ...) -> nd_ndp_header: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_header *"], init: object = ...) -> nd_homa_header: ...
    @overload
    def new(self, cdecl: Literal["struct nd_packet *"], init: object = ...) -> nd_packet: ...
    @overload
    def new(self, cdecl: Literal["struct nd_frame_config *"], init: object = ...) -> nd_frame_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_frame_peer *"], init: object = ...) -> nd_frame_peer: ...
    @overload
    def new(self, cdecl: Literal["struct nd_frame_template *"], init: object = ...) -> nd_frame_template: ...
    @overload
    def new(self, cdecl: Literal["struct nd_frame_trim *"], init: object = ...) -> nd_frame_trim: ...
    @overload
    def new(self, cdecl: Literal["struct nd_pcapng_packet *"], init: object = ...) -> nd_pcapng_packet: ...
    @overload
    def new(self, cdecl: Literal["struct nd_field *"], init: object = ...) -> nd_field: ...
    @overload
    def new(self, cdecl: Literal["struct nd_field_value *"], init: object = ...) -> nd_field_value: ...
    @overload
    def new(self, cdecl: Literal["struct nd_command *"], init: object = ...) -> nd_command: ...
    @overload
    def new(self, cdecl: Literal["struct nd_event *"], init: object = ...) -> nd_event: ...
    @overload
    def new(self, cdecl: Literal["struct nd_transport_ops *"], init: object = ...) -> nd_transport_ops: ...
    @overload
    def new(self, cdecl: Literal["struct nd_paths_config *"], init: object = ...) -> nd_paths_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_config *"], init: object = ...) -> nd_ndp_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_usage *"], init: object = ...) -> nd_ndp_usage: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_config *"], init: object = ...) -> nd_homa_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_usage *"], init: object = ...) -> nd_homa_usage: ...
    @overload
    def new(self, cdecl: Literal["struct nd_queue_ops *"], init: object = ...) -> nd_queue_ops: ...
    @overload
    def new(self, cdecl: Literal["struct nd_limit *"], init: object = ...) -> nd_limit: ...
    @overload
    def new(self, cdecl: Literal["struct nd_shared_config *"], init: object = ...) -> nd_shared_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_shared *"], init: object = ...) -> nd_shared: ...
    @overload
    def new(self, cdecl: Literal["struct nd_droptail_config *"], init: object = ...) -> nd_droptail_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ecn_config *"], init: object = ...) -> nd_ecn_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_cut_payload_config *"], init: object = ...) -> nd_cut_payload_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_queue_config *"], init: object = ...) -> nd_ndp_queue_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_strict_config *"], init: object = ...) -> nd_strict_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_pfabric_config *"], init: object = ...) -> nd_pfabric_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_fair_child *"], init: object = ...) -> nd_fair_child: ...
    @overload
    def new(self, cdecl: Literal["struct nd_fair_config *"], init: object = ...) -> nd_fair_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_flow *"], init: object = ...) -> nd_flow: ...
    @overload
    def new(self, cdecl: Literal["struct nd_flow_row *"], init: object = ...) -> nd_flow_row: ...
    @overload
    def new(self, cdecl: Literal["struct nd_trigger *"], init: object = ...) -> nd_trigger: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sizes *"], init: object = ...) -> nd_sizes: ...
    @overload
    def new(self, cdecl: Literal["struct nd_traffic_open *"], init: object = ...) -> nd_traffic_open: ...
    @overload
    def new(self, cdecl: Literal["struct nd_traffic_closed *"], init: object = ...) -> nd_traffic_closed: ...
    @overload
    def new(self, cdecl: Literal["struct nd_cable *"], init: object = ...) -> nd_cable: ...
    @overload
    def new(self, cdecl: Literal["struct nd_topology_edge *"], init: object = ...) -> nd_topology_edge: ...
    @overload
    def new(self, cdecl: Literal["struct nd_topology_config *"], init: object = ...) -> nd_topology_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_topology *"], init: object = ...) -> nd_topology: ...
    @overload
    def new(self, cdecl: Literal["struct nd_hops *"], init: object = ...) -> nd_hops: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_engine *"], init: object = ...) -> nd_sim_engine: ...
    @overload
    def new(self, cdecl: Literal["struct nd_phantom_config *"], init: object = ...) -> nd_phantom_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_egress *"], init: object = ...) -> nd_sim_egress: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_delay *"], init: object = ...) -> nd_sim_delay: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_change *"], init: object = ...) -> nd_sim_change: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_probes *"], init: object = ...) -> nd_sim_probes: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_config *"], init: object = ...) -> nd_sim_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_counters *"], init: object = ...) -> nd_sim_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_queue_counters *"], init: object = ...) -> nd_queue_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_phantom_counters *"], init: object = ...) -> nd_phantom_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_depth *"], init: object = ...) -> nd_sim_depth: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_host_row *"], init: object = ...) -> nd_sim_host_row: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_record *"], init: object = ...) -> nd_sim_record: ...
    @overload
    def new(self, cdecl: Literal["struct nd_blast_config *"], init: object = ...) -> nd_blast_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_filter *"], init: object = ...) -> nd_port_filter: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_memory_config *"], init: object = ...) -> nd_port_memory_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_xdp_config *"], init: object = ...) -> nd_port_xdp_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_config *"], init: object = ...) -> nd_port_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_channel_config *"], init: object = ...) -> nd_stack_channel_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_settings *"], init: object = ...) -> nd_stack_settings: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_config *"], init: object = ...) -> nd_stack_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_replay_result *"], init: object = ...) -> nd_replay_result: ...
    @overload
    def new(self, cdecl: Literal["struct nd_app *"], init: object = ...) -> nd_app: ...
    @overload
    def new(self, cdecl: Literal["struct nd_app_reply *"], init: object = ...) -> nd_app_reply: ...
    @overload
    def new(self, cdecl: Literal["struct nd_app_message *"], init: object = ...) -> nd_app_message: ...
    @overload
    def new(self, cdecl: Literal["struct nd_exchange *"], init: object = ...) -> nd_exchange: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_peer *"], init: object = ...) -> nd_stack_peer: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_app *"], init: object = ...) -> nd_stack_app: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_counters *"], init: object = ...) -> nd_port_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_switch_counters *"], init: object = ...) -> nd_switch_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_fdb_counters *"], init: object = ...) -> nd_fdb_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_faults_counters *"], init: object = ...) -> nd_faults_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_wire_counters *"], init: object = ...) -> nd_wire_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_faults_config *"], init: object = ...) -> nd_faults_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_switch_config *"], init: object = ...) -> nd_switch_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_switch_port_settings *"], init: object = ...) -> nd_switch_port_settings: ...
    @overload
    def new(self, cdecl: Literal["struct nd_worker_config *"], init: object = ...) -> nd_worker_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_worker_stats *"], init: object = ...) -> nd_worker_stats: ...
    @overload
    def new(self, cdecl: Literal["struct nd_page_class *"], init: object = ...) -> nd_page_class: ...
    @overload
    def new(self, cdecl: Literal["struct nd_page_port *"], init: object = ...) -> nd_page_port: ...
    @overload
    def new(self, cdecl: Literal["struct nd_page *"], init: object = ...) -> nd_page: ...
    @overload
    def new(self, cdecl: Literal["struct nd_fdb_entry *"], init: object = ...) -> nd_fdb_entry: ...
    @overload
    def new(self, cdecl: Literal["struct nd_route_hop *"], init: object = ...) -> nd_route_hop: ...
    @overload
    def new(self, cdecl: Literal["struct nd_route *"], init: object = ...) -> nd_route: ...
    @overload
    def new(self, cdecl: Literal["struct nd_mirror_config *"], init: object = ...) -> nd_mirror_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_mirror_frame *"], init: object = ...) -> nd_mirror_frame: ...
    @overload
    def new(self, cdecl: Literal["struct nd_control_port *"], init: object = ...) -> nd_control_port: ...
    @overload
    def new(self, cdecl: Literal["struct nd_device *"], init: object = ...) -> nd_device: ...
    @overload
    def new(self, cdecl: Literal["struct nd_xdp_occupant *"], init: object = ...) -> nd_xdp_occupant: ...
    @overload
    def new(self, cdecl: Literal["char *"], init: object = ...) -> Pointer[bytes]: ...
    @overload
    def new(self, cdecl: Literal["uint8_t *"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["int *"], init: object = ...) -> Pointer[int]: ...
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
    def new(self, cdecl: Literal["struct nd_rng[]"], init: object = ...) -> nd_rng: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_header[]"], init: object = ...) -> nd_ndp_header: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_header[]"], init: object = ...) -> nd_homa_header: ...
    @overload
    def new(self, cdecl: Literal["struct nd_packet[]"], init: object = ...) -> nd_packet: ...
    @overload
    def new(self, cdecl: Literal["struct nd_frame_config[]"], init: object = ...) -> nd_frame_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_frame_peer[]"], init: object = ...) -> nd_frame_peer: ...
    @overload
    def new(self, cdecl: Literal["struct nd_frame_template[]"], init: object = ...) -> nd_frame_template: ...
    @overload
    def new(self, cdecl: Literal["struct nd_frame_trim[]"], init: object = ...) -> nd_frame_trim: ...
    @overload
    def new(self, cdecl: Literal["struct nd_pcapng_packet[]"], init: object = ...) -> nd_pcapng_packet: ...
    @overload
    def new(self, cdecl: Literal["struct nd_field[]"], init: object = ...) -> nd_field: ...
    @overload
    def new(self, cdecl: Literal["struct nd_field_value[]"], init: object = ...) -> nd_field_value: ...
    @overload
    def new(self, cdecl: Literal["struct nd_command[]"], init: object = ...) -> nd_command: ...
    @overload
    def new(self, cdecl: Literal["struct nd_event[]"], init: object = ...) -> nd_event: ...
    @overload
    def new(self, cdecl: Literal["struct nd_transport_ops[]"], init: object = ...) -> nd_transport_ops: ...
    @overload
    def new(self, cdecl: Literal["struct nd_paths_config[]"], init: object = ...) -> nd_paths_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_config[]"], init: object = ...) -> nd_ndp_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_usage[]"], init: object = ...) -> nd_ndp_usage: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_config[]"], init: object = ...) -> nd_homa_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_homa_usage[]"], init: object = ...) -> nd_homa_usage: ...
    @overload
    def new(self, cdecl: Literal["struct nd_queue_ops[]"], init: object = ...) -> nd_queue_ops: ...
    @overload
    def new(self, cdecl: Literal["struct nd_limit[]"], init: object = ...) -> nd_limit: ...
    @overload
    def new(self, cdecl: Literal["struct nd_shared_config[]"], init: object = ...) -> nd_shared_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_shared[]"], init: object = ...) -> nd_shared: ...
    @overload
    def new(self, cdecl: Literal["struct nd_droptail_config[]"], init: object = ...) -> nd_droptail_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ecn_config[]"], init: object = ...) -> nd_ecn_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_cut_payload_config[]"], init: object = ...) -> nd_cut_payload_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_ndp_queue_config[]"], init: object = ...) -> nd_ndp_queue_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_strict_config[]"], init: object = ...) -> nd_strict_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_pfabric_config[]"], init: object = ...) -> nd_pfabric_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_fair_child[]"], init: object = ...) -> nd_fair_child: ...
    @overload
    def new(self, cdecl: Literal["struct nd_fair_config[]"], init: object = ...) -> nd_fair_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_flow[]"], init: object = ...) -> nd_flow: ...
    @overload
    def new(self, cdecl: Literal["struct nd_flow_row[]"], init: object = ...) -> nd_flow_row: ...
    @overload
    def new(self, cdecl: Literal["struct nd_trigger[]"], init: object = ...) -> nd_trigger: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sizes[]"], init: object = ...) -> nd_sizes: ...
    @overload
    def new(self, cdecl: Literal["struct nd_traffic_open[]"], init: object = ...) -> nd_traffic_open: ...
    @overload
    def new(self, cdecl: Literal["struct nd_traffic_closed[]"], init: object = ...) -> nd_traffic_closed: ...
    @overload
    def new(self, cdecl: Literal["struct nd_cable[]"], init: object = ...) -> nd_cable: ...
    @overload
    def new(self, cdecl: Literal["struct nd_topology_edge[]"], init: object = ...) -> nd_topology_edge: ...
    @overload
    def new(self, cdecl: Literal["struct nd_topology_config[]"], init: object = ...) -> nd_topology_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_topology[]"], init: object = ...) -> nd_topology: ...
    @overload
    def new(self, cdecl: Literal["struct nd_hops[]"], init: object = ...) -> nd_hops: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_engine[]"], init: object = ...) -> nd_sim_engine: ...
    @overload
    def new(self, cdecl: Literal["struct nd_phantom_config[]"], init: object = ...) -> nd_phantom_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_egress[]"], init: object = ...) -> nd_sim_egress: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_delay[]"], init: object = ...) -> nd_sim_delay: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_change[]"], init: object = ...) -> nd_sim_change: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_probes[]"], init: object = ...) -> nd_sim_probes: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_config[]"], init: object = ...) -> nd_sim_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_counters[]"], init: object = ...) -> nd_sim_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_queue_counters[]"], init: object = ...) -> nd_queue_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_phantom_counters[]"], init: object = ...) -> nd_phantom_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_depth[]"], init: object = ...) -> nd_sim_depth: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_host_row[]"], init: object = ...) -> nd_sim_host_row: ...
    @overload
    def new(self, cdecl: Literal["struct nd_sim_record[]"], init: object = ...) -> nd_sim_record: ...
    @overload
    def new(self, cdecl: Literal["struct nd_blast_config[]"], init: object = ...) -> nd_blast_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_filter[]"], init: object = ...) -> nd_port_filter: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_memory_config[]"], init: object = ...) -> nd_port_memory_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_xdp_config[]"], init: object = ...) -> nd_port_xdp_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_config[]"], init: object = ...) -> nd_port_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_channel_config[]"], init: object = ...) -> nd_stack_channel_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_settings[]"], init: object = ...) -> nd_stack_settings: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_config[]"], init: object = ...) -> nd_stack_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_replay_result[]"], init: object = ...) -> nd_replay_result: ...
    @overload
    def new(self, cdecl: Literal["struct nd_app[]"], init: object = ...) -> nd_app: ...
    @overload
    def new(self, cdecl: Literal["struct nd_app_reply[]"], init: object = ...) -> nd_app_reply: ...
    @overload
    def new(self, cdecl: Literal["struct nd_app_message[]"], init: object = ...) -> nd_app_message: ...
    @overload
    def new(self, cdecl: Literal["struct nd_exchange[]"], init: object = ...) -> nd_exchange: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_peer[]"], init: object = ...) -> nd_stack_peer: ...
    @overload
    def new(self, cdecl: Literal["struct nd_stack_app[]"], init: object = ...) -> nd_stack_app: ...
    @overload
    def new(self, cdecl: Literal["struct nd_port_counters[]"], init: object = ...) -> nd_port_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_switch_counters[]"], init: object = ...) -> nd_switch_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_fdb_counters[]"], init: object = ...) -> nd_fdb_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_faults_counters[]"], init: object = ...) -> nd_faults_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_wire_counters[]"], init: object = ...) -> nd_wire_counters: ...
    @overload
    def new(self, cdecl: Literal["struct nd_faults_config[]"], init: object = ...) -> nd_faults_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_switch_config[]"], init: object = ...) -> nd_switch_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_switch_port_settings[]"], init: object = ...) -> nd_switch_port_settings: ...
    @overload
    def new(self, cdecl: Literal["struct nd_worker_config[]"], init: object = ...) -> nd_worker_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_worker_stats[]"], init: object = ...) -> nd_worker_stats: ...
    @overload
    def new(self, cdecl: Literal["struct nd_page_class[]"], init: object = ...) -> nd_page_class: ...
    @overload
    def new(self, cdecl: Literal["struct nd_page_port[]"], init: object = ...) -> nd_page_port: ...
    @overload
    def new(self, cdecl: Literal["struct nd_page[]"], init: object = ...) -> nd_page: ...
    @overload
    def new(self, cdecl: Literal["struct nd_fdb_entry[]"], init: object = ...) -> nd_fdb_entry: ...
    @overload
    def new(self, cdecl: Literal["struct nd_route_hop[]"], init: object = ...) -> nd_route_hop: ...
    @overload
    def new(self, cdecl: Literal["struct nd_route[]"], init: object = ...) -> nd_route: ...
    @overload
    def new(self, cdecl: Literal["struct nd_mirror_config[]"], init: object = ...) -> nd_mirror_config: ...
    @overload
    def new(self, cdecl: Literal["struct nd_mirror_frame[]"], init: object = ...) -> nd_mirror_frame: ...
    @overload
    def new(self, cdecl: Literal["struct nd_control_port[]"], init: object = ...) -> nd_control_port: ...
    @overload
    def new(self, cdecl: Literal["struct nd_device[]"], init: object = ...) -> nd_device: ...
    @overload
    def new(self, cdecl: Literal["struct nd_xdp_occupant[]"], init: object = ...) -> nd_xdp_occupant: ...
    @overload
    def new(self, cdecl: Literal["char[]"], init: object = ...) -> Pointer[bytes]: ...
    @overload
    def new(self, cdecl: Literal["uint8_t[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["int[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint16_t[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint32_t[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["uint64_t[]"], init: object = ...) -> Pointer[int]: ...
    @overload
    def new(self, cdecl: Literal["void *[]"], init: object = ...) -> Pointer[CData]: ...
    @overload
    def new(self, cdecl: Literal["char *[]"], init: object = ...) -> Pointer[Pointer[bytes]]: ...
    @overload
    def new(self, cdecl: Literal["struct nd_counters_table *[]"], init: object = ...) -> Pointer[nd_counters_table]: ...
    @overload
    def cast(self, cdecl: Literal["char *"], value: CData | int) -> Pointer[bytes]: ...
    @overload
    def cast(self, cdecl: Literal["uint8_t *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["int *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["uint16_t *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["uint32_t *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["uint64_t *"], value: CData | int) -> Pointer[int]: ...
    @overload
    def cast(self, cdecl: Literal["void *"], value: CData | int) -> CData: ...
    @overload
    def cast(self, cdecl: Literal["uintptr_t"], value: CData | int) -> CData: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_counter_text[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_counter_text: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_counters_table[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_counters_table: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_error[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_error: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_rng[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_rng: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_ndp_header[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_ndp_header: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_homa_header[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_homa_header: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_packet[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_packet: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_frame_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_frame_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_frame_peer[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_frame_peer: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_frame_template[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_frame_template: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_frame_trim[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_frame_trim: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_pcapng_packet[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_pcapng_packet: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_field[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_field: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_field_value[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_field_value: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_command[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_command: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_event[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_event: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_transport_ops[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_transport_ops: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_paths_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_paths_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_ndp_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_ndp_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_ndp_usage[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_ndp_usage: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_homa_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_homa_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_homa_usage[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_homa_usage: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_queue_ops[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_queue_ops: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_limit[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_limit: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_shared_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_shared_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_shared[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_shared: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_droptail_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_droptail_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_ecn_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_ecn_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_cut_payload_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_cut_payload_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_ndp_queue_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_ndp_queue_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_strict_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_strict_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_pfabric_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_pfabric_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_fair_child[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_fair_child: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_fair_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_fair_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_flow[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_flow: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_flow_row[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_flow_row: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_trigger[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_trigger: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sizes[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sizes: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_traffic_open[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_traffic_open: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_traffic_closed[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_traffic_closed: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_cable[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_cable: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_topology_edge[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_topology_edge: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_topology_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_topology_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_topology[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_topology: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_hops[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_hops: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_engine[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_engine: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_phantom_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_phantom_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_egress[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_egress: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_delay[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_delay: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_change[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_change: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_probes[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_probes: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_counters[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_counters: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_queue_counters[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_queue_counters: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_phantom_counters[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_phantom_counters: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_depth[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_depth: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_host_row[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_host_row: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_sim_record[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_sim_record: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_blast_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_blast_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_port_filter[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_port_filter: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_port_memory_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_port_memory_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_port_xdp_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_port_xdp_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_port_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_port_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_stack_channel_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_stack_channel_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_stack_settings[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_stack_settings: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_stack_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_stack_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_replay_result[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_replay_result: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_app[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_app: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_app_reply[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_app_reply: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_app_message[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_app_message: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_exchange[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_exchange: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_stack_peer[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_stack_peer: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_stack_app[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_stack_app: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_port_counters[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_port_counters: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_switch_counters[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_switch_counters: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_fdb_counters[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_fdb_counters: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_faults_counters[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_faults_counters: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_wire_counters[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_wire_counters: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_faults_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_faults_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_switch_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_switch_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_switch_port_settings[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_switch_port_settings: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_worker_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_worker_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_worker_stats[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_worker_stats: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_page_class[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_page_class: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_page_port[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_page_port: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_page[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_page: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_fdb_entry[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_fdb_entry: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_route_hop[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_route_hop: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_route[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_route: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_mirror_config[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_mirror_config: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_mirror_frame[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_mirror_frame: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_control_port[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_control_port: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_device[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_device: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_xdp_occupant[]"], data: Buffer | Array, require_writable: bool = ...) -> nd_xdp_occupant: ...
    @overload
    def from_buffer(self, cdecl: Literal["char[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[bytes]: ...
    @overload
    def from_buffer(self, cdecl: Literal["uint8_t[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["int[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["uint16_t[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["uint32_t[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["uint64_t[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[int]: ...
    @overload
    def from_buffer(self, cdecl: Literal["void *[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[CData]: ...
    @overload
    def from_buffer(self, cdecl: Literal["char *[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[Pointer[bytes]]: ...
    @overload
    def from_buffer(self, cdecl: Literal["struct nd_counters_table *[]"], data: Buffer | Array, require_writable: bool = ...) -> Pointer[nd_counters_table]: ...

_nd_app_verbs = nd_app_verbs
_nd_frame_trim = nd_frame_trim
_nd_homa_usage = nd_homa_usage
_nd_ndp_usage = nd_ndp_usage
_nd_pcapng_packet = nd_pcapng_packet
_nd_replay_result = nd_replay_result
_nd_sim_counters = nd_sim_counters
_nd_worker_stats = nd_worker_stats

class Lib:
    """Functions, variables and constants of the core."""

    ND_HOMA_PROTOCOL: Final[int]
    ND_MESSAGE_BYTES_MAX: Final[int]
    ND_NONE: Final[int]
    ND_FLOW_ENDLESS: Final[int]
    ND_FLOW_NEVER: Final[int]
    ND_APP_KEY_BITS: Final[int]
    ND_APP_COPY_BYTES: Final[int]
    ND_APP_DROPPED: Final[int]
    ND_APP_LEND_BYTES: Final[int]
    ND_APP_SLICE: Final[int]
    ND_NEVER: Final[int]
    ND_SWITCH_GROUP: Final[int]
    ND_FRAME_PCP_KEEP: Final[int]
    ND_NDP_TRIM_FABRIC: Final[int]
    ND_NDP_TRIM_LAST_HOP: Final[int]
    ND_FAULTS_ALWAYS: Final[int]
    ND_MIRROR_NO_REASON: Final[int]
    ND_PORT_DESCRIPTORS_MAX: Final[int]
    ND_XDP_OCCUPANT_TEXT_BYTES: Final[int]
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
    ND_NDP_FLAG_SYN: Final[int]
    ND_NDP_FLAG_LAST: Final[int]
    ND_NDP_FLAG_FIN: Final[int]
    ND_NDP_FLAG_REPLY: Final[int]
    ND_NDP_FLAG_RTX: Final[int]
    ND_NDP_FLAG_PULL: Final[int]
    ND_NDP_FLAG_CONGESTED: Final[int]
    ND_HOMA_DATA: Final[int]
    ND_HOMA_GRANT: Final[int]
    ND_HOMA_RESEND: Final[int]
    ND_HOMA_RPC_UNKNOWN: Final[int]
    ND_HOMA_BUSY: Final[int]
    ND_HOMA_CUTOFFS: Final[int]
    ND_HOMA_FREEZE: Final[int]
    ND_HOMA_NEED_ACK: Final[int]
    ND_HOMA_ACK: Final[int]
    nd_wire_counters_table: Final[nd_counters_table]
    ND_FRAME_VERIFY_NONE: Final[int]
    ND_FRAME_VERIFY_OURS: Final[int]
    ND_FRAME_VERIFY_ALL: Final[int]
    ND_WIRE_OK: Final[int]
    ND_PCAPNG_UNKNOWN: Final[int]
    ND_PCAPNG_INBOUND: Final[int]
    ND_PCAPNG_OUTBOUND: Final[int]
    ND_FIELD_DECIMAL: Final[int]
    ND_FIELD_HEX: Final[int]
    ND_FIELD_SIGNED: Final[int]
    ND_FIELD_FLAGS: Final[int]
    ND_FIELD_NAMED: Final[int]
    nd_fields: Final[nd_field]
    nd_fields_count: Final[int]
    nd_field_values: Final[nd_field_value]
    nd_field_values_count: Final[int]
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
    ND_COMMAND_MSS: Final[int]
    ND_COMMAND_LINK: Final[int]
    ND_COMMAND_LEVELS: Final[int]
    ND_EVENT_ACCEPTED: Final[int]
    ND_EVENT_MESSAGE: Final[int]
    ND_EVENT_ABANDONED: Final[int]
    ND_EVENT_REQUEST: Final[int]
    ND_EVENT_RESPONSE: Final[int]
    ND_EVENT_SENT: Final[int]
    ND_EVENT_FAILED: Final[int]
    ND_EVENT_CLOSED: Final[int]
    ND_EVENT_OPENED: Final[int]
    ND_NDP_FREE: Final[int]
    ND_NDP_NEW: Final[int]
    ND_NDP_OPENING: Final[int]
    ND_NDP_OPEN: Final[int]
    ND_NDP_CLOSING: Final[int]
    ND_NDP_TIME_WAIT: Final[int]
    ND_NDP_RESET_WAIT: Final[int]
    ND_NDP_ENDED: Final[int]
    ND_HOMA_FREE: Final[int]
    ND_HOMA_OUTGOING: Final[int]
    ND_HOMA_INCOMING: Final[int]
    ND_HOMA_SERVICE: Final[int]
    ND_HOMA_REPLYING: Final[int]
    ND_HOMA_UNACKED: Final[int]
    ND_HOMA_CLOSED: Final[int]
    ND_CLASS_CONTROL: Final[int]
    ND_CLASS_DATA: Final[int]
    ND_HOMA_CUTOFFS_AUTO: Final[int]
    ND_HOMA_CUTOFFS_FIXED: Final[int]
    ND_HOMA_CUTOFFS_STATIC: Final[int]
    ND_KEPT: Final[int]
    ND_TRIMMED: Final[int]
    ND_DROPPED: Final[int]
    ND_RETURNED: Final[int]
    nd_queue_counters_table: Final[nd_counters_table]
    ND_FLOW_ONEWAY: Final[int]
    ND_FLOW_ECHO: Final[int]
    ND_FLOW_WAITING: Final[int]
    ND_FLOW_STARTED: Final[int]
    ND_FLOW_RECEIVED: Final[int]
    ND_FLOW_DONE: Final[int]
    ND_FLOW_FAILED: Final[int]
    ND_TOPOLOGY_CLOS: Final[int]
    ND_TOPOLOGY_BACK_TO_BACK: Final[int]
    ND_TOPOLOGY_GRAPH: Final[int]
    ND_LEVEL_EDGE: Final[int]
    ND_LEVEL_AGG: Final[int]
    ND_LEVEL_CORE: Final[int]
    ND_LEVEL_COUNT: Final[int]
    ND_TIER_NIC: Final[int]
    ND_TIER_EDGE_DOWN: Final[int]
    ND_TIER_EDGE_UP: Final[int]
    ND_TIER_AGG_DOWN: Final[int]
    ND_TIER_AGG_UP: Final[int]
    ND_TIER_CORE_DOWN: Final[int]
    ND_TIER_COUNT: Final[int]
    ND_SIM_ROUTE_SOURCE: Final[int]
    ND_SIM_ROUTE_RANDOM: Final[int]
    ND_SIM_ROUTE_ROUND_ROBIN: Final[int]
    ND_SIM_ROUTE_FLOW: Final[int]
    ND_SIM_CHANGE_RATE: Final[int]
    ND_SIM_CHANGE_DOWN: Final[int]
    ND_SIM_CHANGE_UP: Final[int]
    ND_SIM_CHANGE_LOSS: Final[int]
    ND_SIM_CHANGE_CORRUPT: Final[int]
    ND_SIM_CHANGE_DELAY: Final[int]
    ND_SIM_DONE: Final[int]
    ND_SIM_UNTIL: Final[int]
    ND_SIM_STUCK: Final[int]
    ND_SIM_LIMIT: Final[int]
    ND_SIM_BROKEN: Final[int]
    nd_phantom_counters_table: Final[nd_counters_table]
    nd_sim_counters_table: Final[nd_counters_table]
    ND_SIM_RECORD_SEND: Final[int]
    ND_SIM_RECORD_RECEIVE: Final[int]
    ND_SIM_RECORD_TRIM: Final[int]
    ND_SIM_RECORD_DROP: Final[int]
    ND_SIM_RECORD_BOUNCE: Final[int]
    ND_SIM_RECORD_LOSE: Final[int]
    ND_PORT_MEMORY: Final[int]
    ND_PORT_PACKET: Final[int]
    ND_PORT_UDP: Final[int]
    ND_PORT_XDP: Final[int]
    ND_XDP_AUTO: Final[int]
    ND_XDP_NATIVE: Final[int]
    ND_XDP_GENERIC: Final[int]
    ND_PORT_UP: Final[int]
    ND_PORT_DOWN: Final[int]
    ND_PORT_GONE: Final[int]
    ND_PORT_CHANGED: Final[int]
    ND_PORT_STUCK: Final[int]
    ND_STACK_COMMAND_PEER: Final[int]
    ND_STACK_ADAPTIVE: Final[int]
    ND_STACK_SPIN: Final[int]
    ND_STACK_THROUGHPUT: Final[int]
    ND_STACK_POLLED: Final[int]
    ND_STACK_GROUP_CORE: Final[int]
    ND_STACK_GROUP_WIRE: Final[int]
    ND_STACK_GROUP_NDP: Final[int]
    ND_STACK_GROUP_HOMA: Final[int]
    ND_STACK_GROUP_PORT: Final[int]
    ND_UNREACHABLE_UNKNOWN: Final[int]
    ND_UNREACHABLE_NO_ROUTE: Final[int]
    ND_UNREACHABLE_OTHER_INTERFACE: Final[int]
    ND_UNREACHABLE_NO_NEIGHBOUR: Final[int]
    ND_UNREACHABLE_REFUSED: Final[int]
    ND_UNREACHABLE_NO_ANSWER: Final[int]
    ND_UNREACHABLE_NO_ADDRESS: Final[int]
    ND_UNREACHABLE_PEERS_FULL: Final[int]
    ND_UNREACHABLE_SELF: Final[int]
    ND_RECORDING_OPEN: Final[int]
    ND_RECORDING_ENDED: Final[int]
    ND_RECORDING_FULL: Final[int]
    ND_REPLAY_IDENTICAL: Final[int]
    ND_REPLAY_DIFFERS: Final[int]
    ND_REPLAY_MISSING: Final[int]
    ND_REPLAY_EXTRA: Final[int]
    ND_APP_UNSENT: Final[int]
    ND_APP_SENT: Final[int]
    ND_APP_ANSWERED: Final[int]
    ND_ECMP_RANDOM: Final[int]
    ND_ECMP_ROUND_ROBIN: Final[int]
    ND_ECMP_FLOW: Final[int]
    ND_ECMP_PATH: Final[int]
    nd_port_counters_table: Final[nd_counters_table]
    nd_switch_counters_table: Final[nd_counters_table]
    nd_fdb_counters_table: Final[nd_counters_table]
    nd_faults_counters_table: Final[nd_counters_table]
    ND_WORKER_ADAPTIVE: Final[int]
    ND_WORKER_SPIN: Final[int]
    def nd_frame_config_default(self, ) -> nd_frame_config: ...
    def nd_frame_config_check(self, a0: nd_frame_config | Null, a1: Pointer[Pointer[bytes]] | Null, /) -> int: ...
    def nd_frame_prepare(self, a0: nd_frame_config | Null, a1: nd_frame_peer | Null, a2: nd_frame_template | Null, /) -> None: ...
    def nd_frame_encode(self, a0: nd_frame_template | Null, a1: nd_packet | Null, a2: Pointer[int] | Null, a3: int, /) -> int: ...
    def nd_frame_decode(self, a0: nd_frame_config | Null, a1: Pointer[int] | Null, a2: int, a3: nd_frame_peer | Null, a4: nd_packet | Null, /) -> int: ...
    def nd_frame_message_at(self, a0: nd_frame_config | Null, a1: Pointer[int] | Null, a2: int, /) -> int: ...
    def nd_frame_trim(self, a0: nd_frame_config | Null, a1: Pointer[int] | Null, a2: int, a3: _nd_frame_trim | Null, /) -> int: ...
    def nd_frame_bounce(self, a0: nd_frame_config | Null, a1: Pointer[int] | Null, a2: int, a3: _nd_frame_trim | Null, /) -> int: ...
    def nd_pcapng_section(self, a0: Pointer[int] | Null, a1: int, a2: Pointer[bytes] | bytes | Null, /) -> int: ...
    def nd_pcapng_interface(self, a0: Pointer[int] | Null, a1: int, a2: Pointer[bytes] | bytes | Null, a3: int, /) -> int: ...
    def nd_pcapng_packet(self, a0: Pointer[int] | Null, a1: int, a2: _nd_pcapng_packet | Null, /) -> int: ...
    def nd_field_type_base(self, a0: int, /) -> int: ...
    def nd_field_get(self, a0: nd_field | Null, a1: int, a2: Pointer[int] | Null, a3: int, a4: Pointer[int] | Null, /) -> bool: ...
    def nd_ndp_config_default(self, a0: int, a1: int, /) -> nd_ndp_config: ...
    def nd_ndp_usage(self, a0: CData, a1: _nd_ndp_usage | Null, /) -> None: ...
    def nd_homa_config_default(self, a0: int, a1: int, /) -> nd_homa_config: ...
    def nd_homa_config_paper(self, a0: int, a1: int, /) -> nd_homa_config: ...
    def nd_homa_usage(self, a0: CData, a1: _nd_homa_usage | Null, /) -> None: ...
    def nd_queue_find(self, a0: Pointer[bytes] | bytes | Null, /) -> nd_queue_ops: ...
    def nd_shared_init(self, a0: nd_shared | Null, a1: nd_shared_config | Null, /) -> None: ...
    def nd_ndp_queue_paper(self, a0: int, a1: int, /) -> nd_ndp_queue_config: ...
    def nd_ndp_queue_netfpga(self, ) -> nd_ndp_queue_config: ...
    def nd_ndp_queue_p4(self, a0: int, /) -> nd_ndp_queue_config: ...
    def nd_sizes_quantile(self, a0: nd_sizes | Null, a1: int, /) -> int: ...
    def nd_sizes_mean_256(self, a0: nd_sizes | Null, a1: int, a2: int, /) -> int: ...
    def nd_traffic_exponential(self, a0: nd_rng | Null, a1: int, /) -> int: ...
    def nd_sizes_draw(self, a0: nd_sizes | Null, a1: nd_rng | Null, /) -> int: ...
    def nd_traffic_gap(self, a0: int, a1: int, a2: int, /) -> int: ...
    def nd_traffic_derangement(self, a0: Pointer[int] | Null, a1: int, a2: int, /) -> None: ...
    def nd_traffic_permutation(self, a0: nd_flow | Null, a1: int, a2: nd_flow | Null, a3: int, /) -> None: ...
    def nd_traffic_random(self, a0: nd_flow | Null, a1: int, a2: int, a3: nd_flow | Null, a4: int, /) -> None: ...
    def nd_traffic_incast(self, a0: nd_flow | Null, a1: int, a2: int, a3: nd_flow | Null, a4: int, /) -> None: ...
    def nd_traffic_outcast(self, a0: nd_flow | Null, a1: int, a2: int, a3: nd_flow | Null, a4: int, /) -> None: ...
    def nd_traffic_all_to_all(self, a0: nd_flow | Null, a1: int, a2: nd_flow | Null, /) -> None: ...
    def nd_traffic_open_loop(self, a0: nd_flow | Null, a1: int, a2: nd_traffic_open | Null, a3: nd_flow | Null, a4: int, /) -> int: ...
    def nd_traffic_closed_loop(self, a0: nd_flow | Null, a1: nd_trigger | Null, a2: nd_traffic_closed | Null, a3: nd_flow | Null, a4: int, /) -> None: ...
    def nd_topology_init(self, a0: nd_topology | Null, a1: nd_topology_config | Null, a2: nd_error | Null, /) -> int: ...
    def nd_topology_free(self, a0: nd_topology | Null, /) -> None: ...
    def nd_topology_fat_tree(self, a0: nd_topology_config | Null, a1: int, a2: nd_cable, /) -> None: ...
    def nd_topology_paths(self, a0: nd_topology | Null, a1: int, a2: int, /) -> int: ...
    def nd_topology_peer(self, a0: nd_topology | Null, a1: int, /) -> int: ...
    def nd_topology_port_node(self, a0: nd_topology | Null, a1: int, /) -> int: ...
    def nd_topology_port_first(self, a0: nd_topology | Null, a1: int, /) -> int: ...
    def nd_topology_port_count(self, a0: nd_topology | Null, a1: int, /) -> int: ...
    def nd_topology_port_reverse(self, a0: nd_topology | Null, a1: int, /) -> int: ...
    def nd_topology_tier(self, a0: nd_topology | Null, a1: int, /) -> int: ...
    def nd_topology_cable(self, a0: nd_topology | Null, a1: int, /) -> nd_cable: ...
    def nd_topology_hops(self, a0: nd_topology | Null, a1: int, a2: int, a3: int, /) -> nd_hops: ...
    def nd_sim_new(self, a0: nd_sim_config | Null, a1: nd_flow | Null, a2: int, a3: nd_trigger | Null, a4: int, a5: nd_error | Null, /) -> nd_sim: ...
    def nd_sim_free(self, a0: nd_sim | Null, /) -> None: ...
    def nd_sim_run(self, a0: nd_sim | Null, a1: int, /) -> int: ...
    def nd_sim_error(self, a0: nd_sim | Null, /) -> Pointer[bytes]: ...
    def nd_sim_audit(self, a0: nd_sim | Null, /) -> Pointer[bytes]: ...
    def nd_sim_now(self, a0: nd_sim | Null, /) -> int: ...
    def nd_sim_trace_hash(self, a0: nd_sim | Null, /) -> int: ...
    def nd_sim_unfinished(self, a0: nd_sim | Null, /) -> int: ...
    def nd_sim_topology(self, a0: nd_sim | Null, /) -> nd_topology: ...
    def nd_sim_counters(self, a0: nd_sim | Null, /) -> _nd_sim_counters: ...
    def nd_sim_memory(self, a0: nd_sim | Null, /) -> int: ...
    def nd_sim_flows(self, a0: nd_sim | Null, a1: Pointer[int] | Null, /) -> nd_flow: ...
    def nd_sim_rows(self, a0: nd_sim | Null, a1: Pointer[int] | Null, /) -> nd_flow_row: ...
    def nd_sim_hosts(self, a0: nd_sim | Null, a1: Pointer[int] | Null, /) -> nd_sim_host_row: ...
    def nd_sim_queue_counters(self, a0: nd_sim | Null, a1: int, /) -> nd_queue_counters: ...
    def nd_sim_phantom_counters(self, a0: nd_sim | Null, a1: int, /) -> nd_phantom_counters: ...
    def nd_sim_engine_counters(self, a0: nd_sim | Null, a1: int, a2: int, /) -> Pointer[int]: ...
    def nd_sim_depths(self, a0: nd_sim | Null, a1: Pointer[int] | Null, /) -> nd_sim_depth: ...
    def nd_sim_goodput(self, a0: nd_sim | Null, a1: Pointer[int] | Null, a2: Pointer[int] | Null, /) -> Pointer[int]: ...
    def nd_sim_priority_bytes(self, a0: nd_sim | Null, /) -> Pointer[int]: ...
    def nd_sim_timeline(self, a0: nd_sim | Null, a1: Pointer[int] | Null, a2: Pointer[int] | Null, /) -> nd_sim_record: ...
    def nd_sim_best(self, a0: nd_sim | Null, a1: int, a2: int, a3: int, a4: int, /) -> int: ...
    def nd_rig_packet_new(self, ) -> nd_packet: ...
    def nd_rig_packet_free(self, a0: nd_packet | Null, /) -> None: ...
    def nd_rig_transport_find(self, a0: Pointer[bytes] | bytes | Null, /) -> nd_transport_ops: ...
    def nd_rig_transport_check(self, a0: nd_transport_ops | Null, a1: CData, a2: Pointer[Pointer[bytes]] | Null, /) -> int: ...
    def nd_rig_discipline_check(self, a0: nd_queue_ops | Null, a1: CData, a2: Pointer[Pointer[bytes]] | Null, /) -> int: ...
    def nd_rig_rng_make(self, a0: int, a1: int, /) -> nd_rng: ...
    def nd_rig_rng_below(self, a0: nd_rng | Null, a1: int, /) -> int: ...
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
    def nd_rig_swarm_new(self, ) -> nd_rig_swarm: ...
    def nd_rig_swarm_free(self, a0: nd_rig_swarm | Null, /) -> None: ...
    def nd_rig_swarm_draw(self, a0: nd_rig_swarm | Null, a1: int, a2: int, /) -> None: ...
    def nd_rig_swarm_calm(self, a0: nd_rig_swarm | Null, a1: int, a2: int, /) -> None: ...
    def nd_rig_swarm_set(self, a0: nd_rig_swarm | Null, a1: Pointer[bytes] | bytes | Null, a2: int, /) -> int: ...
    def nd_rig_swarm_option_name(self, a0: int, /) -> Pointer[bytes]: ...
    def nd_rig_swarm_option_help(self, a0: int, /) -> Pointer[bytes]: ...
    def nd_rig_swarm_option_calm(self, a0: int, /) -> int: ...
    def nd_rig_swarm_option(self, a0: nd_rig_swarm | Null, a1: int, /) -> int: ...
    def nd_rig_swarm_run(self, a0: nd_rig_swarm | Null, a1: bool, /) -> bool: ...
    def nd_rig_swarm_shrink(self, a0: nd_rig_swarm | Null, /) -> int: ...
    def nd_rig_swarm_failure(self, a0: nd_rig_swarm | Null, /) -> Pointer[bytes]: ...
    def nd_rig_swarm_time(self, a0: nd_rig_swarm | Null, /) -> int: ...
    def nd_rig_swarm_count_name(self, a0: int, /) -> Pointer[bytes]: ...
    def nd_rig_swarm_count(self, a0: nd_rig_swarm | Null, a1: int, /) -> int: ...
    def nd_rig_swarm_text(self, a0: nd_rig_swarm | Null, /) -> Pointer[bytes]: ...
    def nd_stack_unreachable_text(self, a0: int, /) -> Pointer[bytes]: ...
    def nd_replay_open(self, a0: Pointer[bytes] | bytes | Null, a1: nd_error | Null, /) -> nd_replay: ...
    def nd_replay_run(self, a0: nd_replay | Null, a1: CData, a2: CData, a3: nd_error | Null, /) -> int: ...
    def nd_replay_capture(self, a0: nd_replay | Null, a1: Pointer[bytes] | bytes | Null, a2: nd_error | Null, /) -> int: ...
    def nd_replay_result(self, a0: nd_replay | Null, /) -> _nd_replay_result: ...
    def nd_replay_close(self, a0: nd_replay | Null, /) -> None: ...
    def nd_app_open(self, a0: nd_app | Null, a1: nd_stack_config | Null, a2: nd_error | Null, /) -> int: ...
    def nd_app_share(self, a0: nd_app | Null, a1: nd_app | Null, a2: nd_error | Null, /) -> int: ...
    def nd_app_attach(self, a0: nd_app | Null, a1: Pointer[bytes] | bytes | Null, a2: nd_error | Null, /) -> int: ...
    def nd_app_close(self, a0: nd_app | Null, a1: int, /) -> None: ...
    def nd_app_end(self, a0: nd_app | Null, /) -> None: ...
    def nd_app_disown(self, a0: nd_app | Null, /) -> None: ...
    def nd_app_send_bytes_max(self, a0: nd_app | Null, /) -> int: ...
    def nd_app_receive_bytes_max(self, a0: nd_app | Null, /) -> int: ...
    def nd_app_send(self, a0: nd_app | Null, a1: int, a2: int, a3: int, a4: int, a5: int, a6: int, a7: int, a8: int, a9: Pointer[bytes] | bytes | Null, a10: int, /) -> int: ...
    def nd_app_send_message(self, a0: nd_app | Null, a1: int, a2: int, a3: Pointer[bytes] | bytes | Null, a4: int, a5: bool, /) -> int: ...
    def nd_app_push(self, a0: nd_app | Null, /) -> None: ...
    def nd_app_cancel(self, a0: nd_app | Null, a1: int, a2: int, /) -> int: ...
    def nd_app_tell(self, a0: nd_app | Null, a1: int, a2: int, a3: int, a4: int, a5: int, a6: int, a7: int, /) -> int: ...
    def nd_app_release(self, a0: nd_app | Null, a1: int, a2: int, a3: int, /) -> None: ...
    def nd_app_release_later(self, a0: nd_app | Null, a1: int, a2: int, a3: int, /) -> None: ...
    def nd_app_events(self, a0: nd_app | Null, a1: nd_event | Null, a2: int, a3: int, /) -> int: ...
    def nd_app_batch(self, a0: nd_app | Null, a1: nd_event | Null, a2: int, a3: int, a4: int, /) -> int: ...
    def nd_app_drop(self, a0: nd_app | Null, a1: nd_event | Null, /) -> None: ...
    def nd_app_verbs(self, ) -> _nd_app_verbs: ...
    def nd_app_request(self, a0: nd_app | Null, a1: int, a2: int, a3: int, a4: float, a5: Pointer[bytes] | bytes | Null, a6: int, a7: nd_event | Null, a8: int, a9: int, a10: nd_app_reply | Null, /) -> int: ...
    def nd_app_take(self, a0: nd_app | Null, a1: int, a2: int, a3: float, a4: bool, a5: nd_event | Null, a6: int, a7: int, a8: nd_app_message | Null, /) -> int: ...
    def nd_app_arm(self, a0: nd_app | Null, /) -> bool: ...
    def nd_app_poll(self, a0: nd_app | Null, a1: nd_event | Null, a2: int, a3: int, a4: bool, /) -> int: ...
    def nd_app_drive(self, a0: nd_app | Null, a1: bool, /) -> None: ...
    def nd_app_look_away(self, a0: nd_app | Null, /) -> None: ...
    def nd_app_descriptor(self, a0: nd_app | Null, /) -> int: ...
    def nd_app_held(self, a0: nd_app | Null, /) -> int: ...
    def nd_app_set_peer(self, a0: nd_app | Null, a1: Pointer[int] | Null, a2: int, a3: Pointer[int] | Null, /) -> int: ...
    def nd_app_resolver(self, a0: nd_app | Null, /) -> int: ...
    def nd_app_unresolved(self, a0: nd_app | Null, a1: Pointer[int] | Null, a2: int, /) -> int: ...
    def nd_app_lose_peer(self, a0: nd_app | Null, a1: Pointer[int] | Null, a2: int, /) -> int: ...
    def nd_app_counters(self, a0: nd_app | Null, a1: int, a2: int, a3: Pointer[nd_counters_table] | Null, a4: Pointer[int] | Null, a5: int, /) -> int: ...
    def nd_app_port_state(self, a0: nd_app | Null, a1: int, a2: Pointer[int] | Null, a3: Pointer[bytes] | bytes | Null, a4: nd_error | Null, /) -> int: ...
    def nd_app_settings(self, a0: nd_app | Null, a1: nd_stack_settings | Null, /) -> int: ...
    def nd_app_set(self, a0: nd_app | Null, a1: nd_stack_settings | Null, a2: nd_error | Null, /) -> int: ...
    def nd_app_exchanges(self, a0: nd_app | Null, a1: Pointer[int] | Null, a2: nd_exchange | Null, a3: int, /) -> int: ...
    def nd_app_peers(self, a0: nd_app | Null, a1: Pointer[int] | Null, a2: nd_stack_peer | Null, a3: int, /) -> int: ...
    def nd_app_apps(self, a0: nd_app | Null, a1: Pointer[int] | Null, a2: nd_stack_app | Null, a3: int, /) -> int: ...
    def nd_app_audit(self, a0: nd_app | Null, /) -> Pointer[bytes]: ...
    def nd_worker_config_default(self, ) -> nd_worker_config: ...
    def nd_worker_start(self, a0: nd_worker_config | Null, a1: nd_error | Null, /) -> nd_worker: ...
    def nd_worker_stop(self, a0: nd_worker | Null, /) -> None: ...
    def nd_worker_stats(self, a0: nd_worker | Null, /) -> _nd_worker_stats: ...
    def nd_page_map(self, a0: int, /) -> nd_page: ...
    def nd_page_unmap(self, a0: nd_page | Null, /) -> None: ...
    def nd_page_read(self, a0: nd_page | Null, a1: nd_page | Null, /) -> int: ...
    def nd_mirror_read(self, a0: nd_mirror | Null, a1: nd_mirror_frame | Null, a2: Pointer[int] | Null, a3: int, /) -> int: ...
    def nd_mirror_header(self, a0: nd_mirror | Null, a1: Pointer[int] | Null, a2: int, /) -> int: ...
    def nd_mirror_pcapng(self, a0: nd_mirror | Null, a1: Pointer[int] | Null, a2: int, /) -> int: ...
    def nd_mirror_dropped(self, a0: nd_mirror | Null, /) -> int: ...
    def nd_mirror_comment(self, a0: nd_mirror_frame | Null, a1: Pointer[bytes] | bytes | Null, /) -> Pointer[bytes]: ...
    def nd_control_new(self, a0: nd_switch_config | Null, a1: nd_error | Null, /) -> nd_control: ...
    def nd_control_free(self, a0: nd_control | Null, /) -> None: ...
    def nd_control_join(self, a0: nd_control | Null, a1: nd_worker | Null, a2: nd_error | Null, /) -> int: ...
    def nd_control_leave(self, a0: nd_control | Null, /) -> None: ...
    def nd_control_add_port(self, a0: nd_control | Null, a1: nd_port_config | Null, a2: nd_switch_port_settings | Null, a3: nd_error | Null, /) -> int: ...
    def nd_control_remove_port(self, a0: nd_control | Null, a1: int, a2: nd_error | Null, /) -> int: ...
    def nd_control_set_port(self, a0: nd_control | Null, a1: int, a2: nd_switch_port_settings | Null, a3: nd_error | Null, /) -> int: ...
    def nd_control_reopen_port(self, a0: nd_control | Null, a1: int, a2: nd_port_config | Null, a3: nd_error | Null, /) -> int: ...
    def nd_control_enable_port(self, a0: nd_control | Null, a1: int, a2: bool, a3: nd_error | Null, /) -> int: ...
    def nd_control_describe_port(self, a0: nd_control | Null, a1: int, a2: nd_control_port | Null, a3: nd_error | Null, /) -> int: ...
    def nd_control_check(self, a0: nd_control | Null, /) -> None: ...
    def nd_control_clear_watermarks(self, a0: nd_control | Null, /) -> None: ...
    def nd_control_set_group(self, a0: nd_control | Null, a1: int, a2: int, a3: Pointer[int] | Null, a4: int, a5: int, a6: nd_error | Null, /) -> int: ...
    def nd_control_remove_group(self, a0: nd_control | Null, a1: int, a2: nd_error | Null, /) -> int: ...
    def nd_control_set_address(self, a0: nd_control | Null, a1: Pointer[int] | Null, a2: int, a3: int, a4: nd_error | Null, /) -> int: ...
    def nd_control_remove_address(self, a0: nd_control | Null, a1: Pointer[int] | Null, a2: int, a3: nd_error | Null, /) -> int: ...
    def nd_control_set_route(self, a0: nd_control | Null, a1: Pointer[int] | Null, a2: int, a3: nd_route | Null, a4: nd_error | Null, /) -> int: ...
    def nd_control_remove_route(self, a0: nd_control | Null, a1: Pointer[int] | Null, a2: int, a3: nd_error | Null, /) -> int: ...
    def nd_control_mirror(self, a0: nd_control | Null, a1: nd_mirror_config | Null, a2: nd_error | Null, /) -> nd_mirror: ...
    def nd_control_unmirror(self, a0: nd_control | Null, a1: nd_mirror | Null, /) -> None: ...
    def nd_control_addresses(self, a0: nd_control | Null, a1: Pointer[int] | Null, a2: nd_fdb_entry | Null, a3: int, /) -> int: ...
    def nd_control_read(self, a0: nd_control | Null, a1: nd_page | Null, /) -> int: ...
    def nd_control_page_fd(self, a0: nd_control | Null, /) -> int: ...
    def nd_control_events_fd(self, a0: nd_control | Null, /) -> int: ...
    def nd_control_audit(self, a0: nd_control | Null, /) -> Pointer[bytes]: ...
    def nd_port_open(self, a0: nd_port_config | Null, a1: nd_error | Null, /) -> nd_port: ...
    def nd_port_close(self, a0: nd_port | Null, /) -> None: ...
    def nd_port_arm(self, a0: nd_port | Null, /) -> bool: ...
    def nd_port_descriptors(self, a0: nd_port | Null, a1: Pointer[int] | Null, /) -> int: ...
    def nd_rig_port_send(self, a0: nd_port | Null, a1: Pointer[int] | Null, a2: int, /) -> int: ...
    def nd_rig_port_receive(self, a0: nd_port | Null, a1: Pointer[int] | Null, a2: int, /) -> int: ...
    def nd_rig_port_is_up(self, a0: nd_port | Null, a1: nd_error | Null, /) -> bool: ...
    def nd_device_open(self, a0: nd_device | Null, a1: Pointer[bytes] | bytes | Null, a2: nd_error | Null, /) -> int: ...
    def nd_device_close(self, a0: nd_device | Null, /) -> None: ...
    def nd_device_is_default_route(self, a0: nd_device | Null, /) -> bool: ...
    def nd_xdp_prefers_generic(self, a0: Pointer[bytes] | bytes | Null, /) -> bool: ...
    def nd_xdp_occupant_find(self, a0: nd_xdp_occupant | Null, a1: int, /) -> None: ...
    def nd_xdp_occupant_describe(self, a0: nd_xdp_occupant | Null, a1: Pointer[bytes] | bytes | Null, /) -> None: ...
    def nd_xdp_occupant_remedy(self, a0: nd_xdp_occupant | Null, a1: Pointer[bytes] | bytes | Null, a2: Pointer[bytes] | bytes | Null, /) -> None: ...

ffi: Final[FFI]
lib: Final[Lib]
