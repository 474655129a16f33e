"""Solvers: arrays and problems in, SolverResult out."""
