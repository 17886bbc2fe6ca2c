"""The code of another release in a folder of its own, to run processes of it beside those of this version."""

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from support.docs_page import ROOT
from support.stored_release import stored_releases
from tickwork import __version__

VARIABLE = "TICKWORK_PREVIOUS"


def previous_release(folder: Path) -> Path:
    """The previous release: what TICKWORK_PREVIOUS names, a folder or a commit; otherwise the newest that is stored and
    has its tag here. While there is none, it is this code from another folder: then all that is tested is that two
    releases can be."""
    given = os.environ.get(VARIABLE) or _tag_of_previous()
    if given is None:
        return copy_of_this_code(folder)
    if Path(given).is_dir():
        return Path(given).resolve()
    packed = subprocess.run(
        ["git", "archive", given, "src"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def copy_of_this_code(folder: Path) -> Path:
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("static"))
    return folder


def _tag_of_previous() -> str | None:
    for release in reversed(stored_releases()):
        tag = f"v{release.version}"
        if release.version != __version__ and _has_tag(tag):
            return tag
    return None


def _has_tag(tag: str) -> bool:
    found = subprocess.run(
        ["git", "tag", "--list", tag], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return found.stdout.strip() == tag
