"""Used by mkdocs.yml: a link from docs/ to the rest of the repository becomes plain text on the site."""

import re
from pathlib import PurePosixPath
from typing import Any

_LINK_UPWARDS = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<upwards>(?:\.\./)+)[^)]*\)")


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    depth = len(PurePosixPath(page.file.src_uri).parent.parts)

    def shown(link: re.Match[str]) -> str:
        return link["text"] if link["upwards"].count("../") > depth else link[0]

    return _LINK_UPWARDS.sub(shown, markdown)
