"""Regions are searched quickly: the same search must find the same before and after."""

import pytest
from support.effort import little_effort


@pytest.fixture(scope="module", autouse=True)
def quick_searches():
    with little_effort():
        yield
