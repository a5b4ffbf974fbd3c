"""Files to be written: checked before any work, and written whole or not at all."""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactregion.cli.options import Output
from exactregion.cli.output import note
from exactregion.data.files import write_whole
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError, MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Targets", "check_folder", "check_packages", "check_target"]

SUFFIXES = {
    "--plot": (".png", ".pdf", ".svg"),
    "--report": (".html", ".htm"),
    "--save": (".npz",),
}

PACKAGES = {"--plot": ("matplotlib",), "--report": ("bokeh", "jinja2")}

EXTRAS = {"--plot": "plot", "--report": "report"}

DPI = 150


def check_target(option: str, path: Path, *, force: bool) -> None:
    """Check that a file can be written, before the work that goes into it.

    Parameters
    ----------
    option : str
        The option that names it.
    path : Path
        The file.
    force : bool
        Whether an existing file may be replaced.
    """
    suffixes = SUFFIXES.get(option)
    if suffixes and path.suffix.lower() not in suffixes:
        listed = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if suffixes[1:] else suffixes)
        raise InvalidValueError(f"{option} must end in {listed}. Got {str(path)!r} instead.")
    if option in PACKAGES:
        check_packages(option, option)
    if path.is_dir():
        raise InvalidValueError(f"{option} must be a file. {str(path)!r} is a folder.")
    if path.exists() and not force:
        raise InvalidValueError(
            f"{option}: the file {str(path)!r} exists. Add --force to replace it, or choose "
            "another name."
        )
    if not path.parent.is_dir():
        raise InvalidValueError(f"{option}: there is no folder {str(path.parent)!r}.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InvalidValueError(f"{option}: the folder {str(path.parent)!r} cannot be written to.")


def check_packages(option: str, what: str) -> None:
    """Check that the packages behind --plot or --report are installed.

    Parameters
    ----------
    option : {"--plot", "--report"}
        Which ones.
    what : str
        What needs them, for the message.
    """
    if any(importlib.util.find_spec(package) is None for package in PACKAGES[option]):
        raise MissingDependencyError(
            f"{what} needs a package more: pip install exactregion[{EXTRAS[option]}]"
        )


def check_folder(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Check that files can be written into the folder of --out, which need not be there yet.

    Parameters
    ----------
    folder : Path
        The folder.
    names : iterable of str
        The files.
    force : bool
        Whether existing files may be replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidValueError(f"--out must be a folder. {str(folder)!r} is a file.")
    for name in names:
        if (folder / name).exists() and not force:
            raise InvalidValueError(
                f"--out: the file {str(folder / name)!r} exists. Add --force to replace it, or "
                "choose another folder."
            )
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise InvalidValueError(f"--out: the folder {str(there)!r} cannot be written to.")


class Targets:
    """The files of one command.

    Parameters
    ----------
    output : Output
        Options that name the files.
    save : Path, optional
        Where a region goes.
    """

    def __init__(self, output: Output, save: Path | None = None) -> None:
        self._output = output
        self._save = save
        asked = {"--plot": output.plot, "--report": output.report, "--save": save}
        for option, path in asked.items():
            if path is not None:
                check_target(option, path, force=output.force)

    @property
    def any_picture(self) -> bool:
        """Whether a picture or a page is wanted."""
        return self._output.plot is not None or self._output.report is not None

    def write(self, result: Any) -> None:
        """Write what is wanted of a result.

        Parameters
        ----------
        result : ExactTestResult, ConfidenceRegion or CalibrationBelt
            It draws and reports itself.
        """
        if self._save is not None:
            self._done(result.save(self._save))
        d = len(getattr(result, "parameter_names_", ()))
        wanted = {"picture": self._output.plot, "report": self._output.report}
        with showing("picture", show=self._output.talks and d > 0):
            if self._output.plot is not None:
                _write_figure(_figure(result), self._output.plot)
            if self._output.report is not None:
                result.report(self._output.report)
        for path in wanted.values():
            if path is not None:
                self._done(path)

    def _done(self, path: Path) -> None:
        note(f"Wrote {path}", quiet=self._output.quiet)


def _figure(result: Any) -> Figure:
    import matplotlib as mpl

    mpl.use("Agg")
    figure: Figure = result.plot().figure_
    return figure


def _write_figure(figure: Figure, path: Path) -> Path:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=DPI)
    return write_whole(path, lambda file: file.write(buffer.getvalue()))
