"""The `ndpstack` command: one module for each subcommand, imported when it is asked for."""

from ndpstack.cli._main import main as main
