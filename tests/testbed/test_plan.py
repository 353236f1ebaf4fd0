"""Plans: what can be built, and what is refused with which words."""

from __future__ import annotations

import pytest

from ndpstack.testbed import PlanBuilder, TestbedError, back_to_back, leaf_spine, single_switch


def test_six_switch_fabric_is_the_ndp_papers() -> None:
    # E-N08, R-FT-3: 8 servers, six 4-port switches.
    plan = leaf_spine(4, 2, 2)
    assert [node.name for node in plan.hosts] == [f"h{i}" for i in range(8)]
    assert len(plan.switches) == 6
    assert {len(plan.ports(node.name)) for node in plan.switches} == {4}


def test_leaf_ports_lead_to_hosts_first() -> None:
    plan = leaf_spine(4, 2, 2)
    assert plan.ports("leaf1") == [("p0", "h2"), ("p1", "h3"), ("p2", "spine0"), ("p3", "spine1")]
    assert plan.ports("spine1") == [(f"p{i}", f"leaf{i}") for i in range(4)]


def test_addresses_and_macs_are_unique() -> None:
    plan = leaf_spine(4, 2, 2)
    addresses = [plan.address(node.name) for node in plan.hosts]
    assert len({address.ipv4 for address in addresses}) == 8
    assert len({address.ipv6 for address in addresses}) == 8
    macs = {plan.mac(node.name, port) for node in plan.nodes for port, _ in plan.ports(node.name)}
    assert len(macs) == 2 * len(plan.links)


def test_back_to_back_has_one_link() -> None:
    assert len(back_to_back().links) == 1


def test_host_with_two_links_is_refused() -> None:
    builder = PlanBuilder()
    builder.host("h0")
    for name in ("s0", "s1"):
        builder.link(builder.switch(name), "h0")
    with pytest.raises(TestbedError, match="host h0 has 2 links; a host has exactly one"):
        builder.build()


def test_link_to_nowhere_is_refused() -> None:
    builder = PlanBuilder()
    builder.link(builder.switch("s0"), "h9")
    with pytest.raises(TestbedError, match="there is no node 'h9'"):
        builder.build()


@pytest.mark.parametrize("mtu", [1279, 9217])
def test_mtu_out_of_range_is_refused(mtu: int) -> None:
    with pytest.raises(TestbedError, match=rf"MTU {mtu} B is not in 1280..9216 B"):
        single_switch(2, mtu)


def test_bad_and_double_names_are_refused() -> None:
    builder = PlanBuilder()
    builder.switch("S0")
    with pytest.raises(TestbedError, match="'S0' is not 1 to 15 lower-case"):
        builder.build()
    builder = PlanBuilder()
    builder.switch("s0")
    builder.switch("s0")
    with pytest.raises(TestbedError, match="same name"):
        builder.build()


def test_unknown_host_has_no_address() -> None:
    with pytest.raises(TestbedError, match="there is no host 's0'"):
        single_switch(2).address("s0")


def test_of_several_links_between_two_nodes_the_first_is_meant() -> None:
    """As in the simulator, where one cable of them changes."""
    builder = PlanBuilder()
    for name in ("s0", "s1"):
        builder.link(builder.host(f"h{name[1]}"), builder.switch(name))
    for _ in range(2):
        builder.link("s0", "s1")
    plan = builder.build()
    assert plan.link("s1", "s0") == plan.links[2]
    with pytest.raises(TestbedError, match="no link between 's0' and 'h1'"):
        plan.link("s0", "h1")
