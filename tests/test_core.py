"""The compiled core is there and its documentation travels with it."""

from ndpstack import _core


def test_every_queue_counter_is_documented() -> None:
    table = _core.lib.nd_queue_counters_table
    texts = [
        (_core.ffi.string(table.texts[i].name), _core.ffi.string(table.texts[i].help))
        for i in range(table.count)
    ]
    assert len(texts) > 10
    assert all(help_text.endswith(b".") for _, help_text in texts)
