"""What Prometheus reads, and that the dashboard asks for nothing else."""

from __future__ import annotations

import re
import socket
import time
import urllib.request
from pathlib import Path

import pytest
from fake_dataplane import TEXTS
from running_daemon import CONFIG, RunningDaemon

from switchd._http import Handler
from switchd.control import ServerCounters
from switchd.metrics import metric_names

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "deploy" / "grafana" / "switchd.json"


def port_of(daemon: RunningDaemon) -> int:
    server = daemon.daemon.exporter._server
    assert server is not None
    return server.server_port


def scrape(daemon: RunningDaemon) -> dict[str, float]:
    """Samples by name and labels, as Prometheus reads them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port_of(daemon)}/metrics") as answer:
        text = answer.read().decode()
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


@pytest.fixture
def exporting(stopped: RunningDaemon) -> RunningDaemon:
    stopped.write(CONFIG.replace('metrics = ""', 'metrics = "127.0.0.1:0"'))
    stopped.start()
    return stopped


def test_counters_are_exported_with_their_texts(exporting: RunningDaemon) -> None:
    counters = exporting.plane.switches["tor0"].ports["h1"].counters
    counters["port"]["rx_frames"] = 7
    counters["queue"]["trimmed_packets"] = 3
    with exporting.client() as client:
        client.call("clear")
    samples = scrape(exporting)
    assert samples['ndpstack_port_rx_frames_total{port="h1",switch="tor0"}'] == 7, "clear or not"
    assert samples['ndpstack_queue_trimmed_packets_total{port="h1",switch="tor0"}'] == 3
    assert samples['ndpstack_port_up{port="h1",switch="tor0"}'] == 1
    assert samples['ndpstack_path_up{path="1"}'] == 1
    assert samples['ndpstack_control_clients_total{socket="control"}'] == 1
    assert samples["ndpstack_worker_rounds_total"] == 1


def test_every_metric_that_is_exported_is_documented(exporting: RunningDaemon) -> None:
    names = {re.split(r"[{ ]", name)[0] for name in scrape(exporting)}
    documented = metric_names(TEXTS, ServerCounters())
    assert names == set(documented)
    assert all(text.endswith(".") for text in documented.values())


def idle(daemon: RunningDaemon) -> socket.socket:
    """A client that asks for nothing."""
    return socket.create_connection(("127.0.0.1", port_of(daemon)), 5)


def test_there_are_no_more_clients_than_places(
    stopped: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each had a thread, for as long as it liked."""
    monkeypatch.setattr("switchd._http.CLIENTS_MAX", 2)
    stopped.write(CONFIG.replace('metrics = ""', 'metrics = "127.0.0.1:0"'))
    stopped.start()
    with idle(stopped), idle(stopped), idle(stopped) as third:
        assert third.recv(1) == b""
    for _ in range(4):  # Who goes, or is done, leaves a place.
        deadline = time.monotonic() + 5
        while True:
            try:
                assert scrape(stopped)
                break
            except OSError:
                assert time.monotonic() < deadline


def test_a_client_that_asks_for_nothing_is_hung_up_on(
    exporting: RunningDaemon,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Handler, "timeout", 0.05)
    with idle(exporting) as sock:
        assert sock.recv(1) == b""
    with idle(exporting) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost:")
        assert sock.recv(1) == b""
    assert "Traceback" not in capsys.readouterr().err


def test_an_address_in_use_is_named(exporting: RunningDaemon, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = RunningDaemon(tmp_path / "second")
    second.write(CONFIG.replace('metrics = ""', f'metrics = "127.0.0.1:{port_of(exporting)}"'))
    with pytest.raises(Exception, match=r"daemon\.metrics: .*choose another one"):
        second.start()
