"""Ranks and Z of many configurations are what `record_net.py` wrote down before a redesign."""

import pytest
from reference.record_net import answer_of, configurations, differences, environment, read_net

pytest.importorskip("dask.dataframe")
pytest.importorskip("pyarrow")

NET = read_net()
CONFIGURATIONS = configurations()
GROUPS = list(dict.fromkeys(configuration.group for configuration in CONFIGURATIONS))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Keep memory maps and Parquet files, which several configurations share."""
    return tmp_path_factory.mktemp("net")


def test_all_configurations_are_recorded():
    asked = {each.key: each.is_combined for each in CONFIGURATIONS}
    recorded = {key: known["combined"] for key, known in NET["configurations"].items()}
    assert asked == recorded


@pytest.mark.parametrize("group", GROUPS)
def test_ranks_and_digests(group, folder):
    changed = {}
    for configuration in CONFIGURATIONS:
        if configuration.group != group:
            continue
        known = NET["configurations"][configuration.key]
        apart = differences(answer_of(configuration, folder), known)
        if any(apart.values()):
            changed[configuration.key] = apart
    # last bits belong to the versions and the machine that they were recorded with
    assert not changed, (
        f"{len(changed)} configurations of {group!r} differ: {changed}. "
        f"Recorded with {NET['environment']}, compared with {environment()}."
    )
