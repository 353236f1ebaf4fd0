"""The check of offloads, fed with interfaces that are not here."""

from __future__ import annotations

import pytest
from interfaces import interface

from ndpstack.doctor import Status
from ndpstack.doctor._offloads import judge_offloads


def test_a_nic_that_merges_frames_is_warned_of() -> None:
    (finding,) = judge_offloads(interface("ixgbe"), {"rx-lro", "tx-tcp-segmentation"})
    assert finding.status is Status.WARN
    assert finding.text.startswith("rx-lro on e0: native XDP may be refused")
    assert finding.remedy == "ethtool -K e0 lro off"
    assert finding.repair is not None


def test_a_nic_that_strips_tags_is_noted_and_stays_as_it_is() -> None:
    (finding,) = judge_offloads(interface("ixgbe"), {"rx-vlan-hw-parse"})
    assert finding.status is Status.NOTE
    assert "does not see VLAN tags" in finding.text
    assert finding.remedy == "ethtool -K e0 rxvlan off"
    assert finding.repair is None


def test_what_has_no_switch_has_no_remedy() -> None:
    (finding,) = judge_offloads(interface("virtio_net"), {"rx-gro-hw"}, {"rx-gro-hw"})
    assert (finding.status, finding.remedy, finding.repair) == (Status.NOTE, None, None)
    assert "its driver has no switch for it" in finding.text


def test_a_veth_is_looked_at_for_what_its_other_end_gets() -> None:
    active = {"tx-vlan-hw-insert", "rx-vlan-hw-parse", "tx-generic-segmentation"}
    (finding,) = judge_offloads(interface("veth", is_software=True), active)
    assert finding.remedy == "ethtool -K e0 gso off txvlan off"
    (finding,) = judge_offloads(interface("veth", is_software=True), active, of_switch=True)
    assert finding.status is Status.OK, "at the other end of a switch's port is no switch"


@pytest.mark.parametrize("driver", ["loopback", "bridge"])
def test_other_software_has_its_offloads_for_itself(driver: str) -> None:
    active = {"tx-tcp-segmentation", "tx-generic-segmentation", "rx-vlan-hw-parse"}
    (finding,) = judge_offloads(interface(driver, is_software=True), active)
    assert finding.status is Status.OK
