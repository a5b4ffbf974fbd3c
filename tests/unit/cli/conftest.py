"""The demonstration shows what searches find, however long these take."""

import pytest
from support.effort import little_effort


@pytest.fixture(scope="module", autouse=True)
def quick_searches():
    with little_effort():
        yield
