"""Our sockets beside others', in one run on one link: `ndpstack bench`."""

from ndpstack.bench._bed import Bed as Bed
from ndpstack.bench._bed import TurnError as TurnError
from ndpstack.bench._bed import open_bed as open_bed
from ndpstack.bench._environment import degraded as degraded
from ndpstack.bench._environment import environment as environment
from ndpstack.bench._environment import processor as processor
from ndpstack.bench._kinds import KINDS as KINDS
from ndpstack.bench._kinds import Kind as Kind
from ndpstack.bench._rounds import Match as Match
from ndpstack.bench._rounds import Standing as Standing
from ndpstack.bench._tables import standings_document as standings_document
from ndpstack.bench._tables import standings_table as standings_table
