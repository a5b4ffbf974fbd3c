"""The study: is it true, and how does it compare? `python -m validation --help`."""
