"""Which PostgreSQL the tests run on: Tickwork's own, or another with the settings that it comes with."""

import os
from pathlib import Path

PROGRAMS = Path(os.environ["TICKWORK_TEST_POSTGRES"]) if os.environ.get("TICKWORK_TEST_POSTGRES") else None
