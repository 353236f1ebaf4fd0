"""Where the console scripts of the switch begin, before anything is imported."""

from ndpstack._entry import run


def switchd() -> int:
    """`switchd`."""
    return run("switchd._main")


def switchctl() -> int:
    """`switchctl`."""
    return run("switchd.switchctl")
