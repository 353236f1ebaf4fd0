"""`python -m switchd`: the daemon."""

import sys

from switchd._entry import switchd

sys.exit(switchd())
