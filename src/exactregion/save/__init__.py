"""Fitted regions in files, without pickle: what they hold, and how values are written."""

from exactregion.save.regions import load, save

__all__ = ["load", "save"]
