"""The experiment of the paper, from data to figure: ``exactregion paper``."""

__all__: list[str] = []
