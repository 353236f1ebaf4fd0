"""`python -m switchd`: the daemon."""

import sys

from switchd.daemon import main

sys.exit(main())
