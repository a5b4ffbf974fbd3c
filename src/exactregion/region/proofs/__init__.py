"""Bounds of ranks that hold for every θ in a box, and the sets that are proven by them."""
