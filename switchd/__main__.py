"""`python -m switchd`: the daemon."""

import sys

from switchd._main import main

sys.exit(main())
