"""Fixtures of a class that is graded in this process."""

import pytest
from batch_work import Here
from classes import cli, fingerprints, hand_in, set_up

from checks.support.session import Setting
from instructor.grading import command


@pytest.fixture
def grade(tmp_path, monkeypatch):
    """Grades tmp_path/class into tmp_path/out. Settings stay; `people` is the roster's text."""
    monkeypatch.setattr(Setting, "isolation", lambda self: None)
    monkeypatch.setattr(Setting, "require_hidden", lambda self, shown: None)
    monkeypatch.setattr("instructor.grading.fingerprint.Fingerprints", fingerprints)
    settings = {"submissions": ["../class"]}

    def grade(*arguments, engine=None, people=None, **changes):
        monkeypatch.setattr(command, "make_engine", lambda *_: engine or Here())
        settings.update(changes)
        if people:
            (tmp_path / "roster.csv").write_text(people, encoding="utf-8")
            settings["roster"] = "../roster.csv"
        return cli("grade", set_up(tmp_path / "out", **settings), *arguments)

    return grade


@pytest.fixture
def graded(tmp_path, grade):
    hand_in(tmp_path / "class", "ada", "ben")
    grade()


@pytest.fixture
def use_manifest(tmp_path, monkeypatch):
    def use(text):
        (tmp_path / "manifest.toml").write_text(text, encoding="utf-8")
        for module in ("instructor.grading.graded_class", "checks.support.session"):
            monkeypatch.setattr(f"{module}.MANIFEST", tmp_path / "manifest.toml")

    return use
