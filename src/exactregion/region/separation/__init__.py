"""Directions in which a region has no end, in exact arithmetic, and membership at infinity."""
