"""What a migration that ends in .concurrently.sql may contain."""

import pytest

from tickwork.model.errors import WrongSchema
from tickwork.store.concurrent_statement import (
    LONGEST_INDEX_NAME,
    CreateIndex,
    DropIndex,
    ValidateConstraint,
    concurrent_statements,
)
from tickwork.store.migration_file import How, read_migration

_NAME = "0002_index_color.concurrently.sql"


def test_reads_the_statements_without_their_comments() -> None:
    found = concurrent_statements(
        _NAME,
        """
        -- A comment; with a semicolon.
        CREATE UNIQUE INDEX CONCURRENTLY job_color ON tickwork.job (tenant_id, color)
            WHERE color IS NOT NULL;  -- another one
        DROP INDEX CONCURRENTLY tickwork.job_hue;
        ALTER TABLE tickwork.job VALIDATE CONSTRAINT has_color;
        """,
    )
    assert found == [
        CreateIndex("job_color", "job", is_unique=True, rest="(tenant_id, color) WHERE color IS NOT NULL"),
        DropIndex("job_hue"),
        ValidateConstraint("job", "has_color"),
    ]


def test_an_index_has_a_statement_for_each_partition() -> None:
    index = CreateIndex("ready", "execution", is_unique=True, rest="(lane_id)")
    name = index.name_on("execution_20260131")
    assert name == "ready_20260131"
    assert index.concurrent_sql(name, "execution_20260131") == (
        "CREATE UNIQUE INDEX CONCURRENTLY ready_20260131 ON tickwork.execution_20260131 (lane_id)"
    )
    assert index.sql() == "CREATE UNIQUE INDEX ready ON tickwork.execution (lane_id)"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE INDEX job_color ON tickwork.job (color);",
        "CREATE INDEX CONCURRENTLY ON tickwork.job (color);",
        "CREATE INDEX CONCURRENTLY job_color ON job (color);",
        "DROP INDEX tickwork.job_color;",
        "UPDATE tickwork.job SET color = 'white';",
    ],
)
def test_refuses_what_is_not_safe_to_repeat_while_others_write(sql: str) -> None:
    with pytest.raises(WrongSchema, match=r"0002_index_color\.concurrently\.sql has a statement"):
        read_migration(_NAME, sql.encode())


def test_refuses_a_name_that_postgres_would_cut_off() -> None:
    name = "a" * (LONGEST_INDEX_NAME + 1)
    with pytest.raises(WrongSchema, match="long name"):
        read_migration(_NAME, f"CREATE INDEX CONCURRENTLY {name} ON tickwork.job (color);".encode())


@pytest.mark.parametrize(
    ("name", "how"),
    [("0002_add_a.sql", How.AT_ONCE), ("0002_fill_a.needs_0001.batches.sql", How.BATCHES),
     ("0002_index_a.needs_0001.concurrently.sql", How.CONCURRENTLY)],
)  # fmt: skip
def test_a_name_says_how_a_migration_is_applied(name: str, how: How) -> None:
    assert read_migration(name, b"").how is how
