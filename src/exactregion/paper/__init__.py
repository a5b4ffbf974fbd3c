"""Experiments that can be run again, from data to figure.

`python -m exactregion.paper.paper --out DIR` repeats the experiment of the paper.
"""

__all__: list[str] = []
