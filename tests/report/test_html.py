"""What a report writes of tables."""

from __future__ import annotations

from ndpstack._table import Column
from ndpstack.report._html import html_table
from ndpstack.report._tables import Table


def test_no_text_becomes_a_tag() -> None:
    table = Table("<title>", (Column("<head>"),), (("<cell>",),))
    html = html_table(table)
    for word in ("title", "head", "cell"):
        assert f"&lt;{word}&gt;" in html
        assert f"<{word}>" not in html
