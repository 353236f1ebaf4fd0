"""The fabric of tests that want several switches and the fewest hosts."""

FOUR_HOSTS = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
rate = "100Mbit"
"""
