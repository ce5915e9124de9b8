"""Fixtures of repositories that were handed in."""

import zipfile
from dataclasses import replace

import pytest
from classes import student
from downloads import DEADLINE, EARLY

from instructor.grading.finding.commits import take_commit
from instructor.grading.finding.find import find_submissions
from instructor.grading.finding.repository import Unreadable


@pytest.fixture
def take(tmp_path):
    """Takes the commit that counts: the submission, its problem or the remarks, and the files."""

    def take(at=DEADLINE, **options):
        (found,) = find_submissions(tmp_path / "class")
        found = replace(found, source=tmp_path / "taken" / "ada.zip")
        try:
            found, _, remarks = take_commit(found, at, **options)
        except Unreadable as error:
            return None, f"unreadable: {error}", {}
        if found.problem:
            return found, found.problem, {}
        with zipfile.ZipFile(found.source) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        return found, remarks, {name: content.decode() for name, content in files.items()}

    return take


@pytest.fixture
def own(tmp_path):
    """A repository that was handed in with its .git, whatever is in there."""
    return student(tmp_path / "class" / "ada", EARLY)
