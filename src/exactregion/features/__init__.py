"""Features of the inputs on a dyadic grid, where every sum over rows is exact."""

__all__: list[str] = []
