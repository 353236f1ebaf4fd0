"""How the documentation is built: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from ndpstack import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_tools"))

from make_api import write_api_page
from make_operating import write_pages as write_operating_pages
from make_reference import write_pages

write_pages(HERE / "reference")
write_api_page(HERE / "reference")
write_operating_pages(HERE / "operating")

project = "ndpstack"
author = "the ndpstack authors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.doctest"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_tools"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "ndpstack"

man_pages = [
    ("reference/commands", "ndpstack", "NDP and Homa in userspace", author, 1),
    ("operating/commands", "switchctl", "what a running switchd does", author, 1),
    ("operating/configuration", "switchd.toml", "configuration of switchd", author, 5),
]
