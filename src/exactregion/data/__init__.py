"""Validated inputs and outcomes, and the sources that they come from."""
