"""Tests that need network namespaces; each skips with its reason where it cannot run."""

pytest_plugins = ["ndpstack.testbed.pytest_plugin"]
