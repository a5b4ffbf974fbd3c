"""Exact tests of hypotheses that hold for many θ: linear ones, and that a family fits at all."""
