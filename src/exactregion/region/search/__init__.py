"""Members of a region found by search: its estimates, its outline, and ends that are audited."""
