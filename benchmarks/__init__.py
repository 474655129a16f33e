"""Benchmarks: every speed claim as a ratio to a named peer. See README.md."""
