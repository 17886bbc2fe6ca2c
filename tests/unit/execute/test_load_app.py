import sys

import pytest

from tickwork.execute.load_app import load_app
from tickwork.model.errors import Invalid


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_finds_an_app_in_the_current_folder(folder):
    (folder / "jobs_here.py").write_text(
        "from tickwork import App\napp = App()\n@app.task\ndef f() -> None: ...\n"
    )
    assert list(load_app("jobs_here:app").definitions) == ["jobs_here.f"]


@pytest.mark.parametrize("path", ["jobs", "jobs:", ":app", ""])
def test_a_path_without_both_parts_is_explained(path):
    with pytest.raises(Invalid) as caught:
        load_app(path)
    assert caught.value.errors[0].hint == "write MODULE:NAME, such as tasks:app"


def test_a_missing_module_is_named():
    with pytest.raises(Invalid, match="there is no module 'nowhere'"):
        load_app("nowhere:app")


def test_a_missing_import_of_the_users_code_raises_pythons_own_error(folder):
    (folder / "jobs_missing.py").write_text("import no_such_library\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        load_app("jobs_missing:app")


def test_an_error_in_the_users_code_is_not_hidden(folder):
    (folder / "jobs_broken.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        load_app("jobs_broken:app")


def test_a_wrong_name_gets_a_suggestion(folder):
    (folder / "jobs_named.py").write_text("from tickwork import App\nmain = App()\nother = 1\n")
    with pytest.raises(Invalid) as caught:
        load_app("jobs_named:app")
    assert caught.value.errors[0].hint == "did you mean jobs_named:main?"
    with pytest.raises(Invalid, match="is not an App"):
        load_app("jobs_named:other")
