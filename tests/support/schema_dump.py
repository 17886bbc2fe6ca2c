"""The schema that the migrations make, as pg_dump writes it, without what differs from one dump to the next.

`make schema` writes it to src/tickwork/store/schema.sql: to read what there is, and to see in a diff what a migration
changes.
"""

import asyncio
import re
import tempfile
from pathlib import Path

from tickwork.store import migrate
from tickwork.store.embedded.run_postgres_programs import output_of
from tickwork.store.embedded.server import EmbeddedPostgres

SCHEMA = Path(migrate.__file__).parent / "schema.sql"
_HEADER = "-- Written by `make schema`: what the files in migrations/ amount to. Their comments say why.\n\n"
_NOISE = re.compile(r"^(--|\\|SET |SELECT pg_catalog\.set_config).*\n", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")


def dump(url: str) -> str:
    with output_of(
        "pg_dump", "--schema-only", "--no-owner", "--no-privileges", "--schema=tickwork", url
    ) as output:
        text = output.read().decode()
    return _HEADER + _BLANK_LINES.sub("\n\n", _NOISE.sub("", text)).strip() + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tickwork-schema-") as folder:
        postgres = EmbeddedPostgres(Path(folder))
        url = postgres.start()
        try:
            asyncio.run(migrate.upgrade(url))
            SCHEMA.write_text(dump(url), "utf-8")
        finally:
            postgres.stop()


if __name__ == "__main__":
    main()
