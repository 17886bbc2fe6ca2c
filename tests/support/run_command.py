"""The command line as a process."""

import os
import subprocess
import sys
from pathlib import Path


def tickwork(*words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """With no settings but the given ones."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TICKWORK_")}
    return subprocess.run(
        [sys.executable, "-m", "tickwork.cli", *map(str, words)],
        env={**clean, **env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
