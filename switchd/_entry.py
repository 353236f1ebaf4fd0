"""Where the console scripts of the switch begin, before anything is imported."""

import signal

from ndpstack._entry import run


def switchd() -> int:
    """`switchd`. SIGHUP waits until it is answered: left to itself it ends a daemon that starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    return run("switchd._main")


def switchctl() -> int:
    """`switchctl`."""
    return run("switchd.switchctl")
