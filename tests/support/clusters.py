"""A Dask cluster for a test: on the loopback interface, on ports that are free."""

from distributed import LocalCluster


def loopback_cluster(n_workers):
    """Workers that are processes with one thread each; close it by `with`."""
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
    )
