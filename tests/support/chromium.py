"""The Chromium that tests drive: Debian's package chromium-headless-shell, or another one.

The headless shell is the same engine without the windows, menus and services of the browser around it. A page opens in
it for a fifth of the processor time, so it comes first.
"""

import shutil

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
