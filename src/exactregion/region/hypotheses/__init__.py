"""Tests of hypotheses about many θ, valid at every n: linear ones, and that a family fits."""
