"""Tests that need network namespaces; each skips with its reason where it cannot run."""

from ndpstack.testbed.pytest_plugin import lab as lab
