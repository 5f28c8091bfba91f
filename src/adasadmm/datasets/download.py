"""Downloading one file, over https only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from requests import Response

__all__ = ["download", "refuse_http"]


def download(home: str, file: str, folder: Path) -> Path:
    """Download one file; pooch renames it only when it is complete."""
    import pooch

    downloader = pooch.HTTPDownloader(timeout=30, hooks={"response": refuse_http})
    try:
        return Path(pooch.create(folder, home, registry={file: None}).fetch(file, downloader=downloader))
    except OSError as error:
        root: BaseException = error  # the root of the chain is the most specific: no such host, no space left
        while (deeper := root.__cause__ or root.__context__) is not None:
            root = deeper
        raise OSError(f"{home}{file}: {str(root)[:200] or type(root).__name__}") from error


def refuse_http(response: Response, *_: object, **__: object) -> None:
    """Raise if a redirect left https."""
    if not response.url.startswith("https://"):
        raise OSError(f"redirected to {response.url}, which is not https")
