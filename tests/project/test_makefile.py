"""`make help` describes every target, so that nobody has to read the Makefile to find one."""

import re
import subprocess

import pytest

from support.docs_page import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE)


@pytest.fixture(scope="module")
def shown() -> str:
    made = subprocess.run(["make", "--no-print-directory", "help"], cwd=ROOT, check=True, capture_output=True)
    return made.stdout.decode()


@pytest.mark.parametrize("target", TARGETS)
def test_help_describes_every_target(target: str, shown: str) -> None:
    assert re.search(rf"^  {target} +\S", shown, re.MULTILINE)


def test_every_target_is_made_even_if_a_file_has_its_name() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony.split() == TARGETS


def test_the_stock_tests_exist() -> None:
    (listed,) = re.findall(r"^STOCK_TESTS := ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
    for path in listed.replace("\\\n", " ").split():
        assert (ROOT / path).exists(), path
