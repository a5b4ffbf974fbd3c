"""Validated inputs and outcomes, and the sources that they come from."""

__all__: list[str] = []
