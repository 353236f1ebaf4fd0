"""`ndpstack reproduce`: the papers' experiments, their numbers beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._errors import UserError
from ndpstack.reproduce._experiment import Check as Check
from ndpstack.reproduce._experiment import Effort as Effort
from ndpstack.reproduce._experiment import Outcome as Outcome
from ndpstack.reproduce._homa import EXPERIMENTS as _HOMA
from ndpstack.reproduce._ndp import EXPERIMENTS as _NDP

if TYPE_CHECKING:
    from ndpstack.reproduce._experiment import Experiment as Experiment

EXPERIMENTS: dict[str, Experiment] = {experiment.id: experiment for experiment in (*_NDP, *_HOMA)}


_BY_ANY_ID = {
    identifier: experiment for experiment in EXPERIMENTS.values() for identifier in experiment.ids
}


def find(identifier: str) -> Experiment:
    """The experiment with that id, or whose numbers are in it.

    Raises:
        UserError: There is none; the text lists them.
    """
    if identifier in EXPERIMENTS:
        return EXPERIMENTS[identifier]
    if identifier not in _BY_ANY_ID:
        raise UserError(f"no experiment {identifier!r}; there are {', '.join(_BY_ANY_ID)}")
    return _BY_ANY_ID[identifier]
