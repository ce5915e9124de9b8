"""What a check depends on is in its fingerprint, and nothing else is."""

import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from classes import hand_in

from autograder import read_manifest
from checks.support.rounds import RELEASED, Rounds
from checks.support.session import MANIFEST, Setting
from helpers import ROOT, SOLUTION, STARTER
from instructor.grading.fingerprint import SHARED, Fingerprints, digest_submission, seed_for

WHOLE = read_manifest(MANIFEST)
CHECKS = WHOLE.checks


def changed(before, after):
    return {CHECKS[id].question for id in before if before[id] != after[id]}


def test_fingerprints_have_all_that_checks_import():
    script = """if True:
        import sys, instructor
        from autograder import read_manifest
        from autograder.judge import verdicts_in
        from checks.support.session import CHECKS, MANIFEST
        from instructor.checks.drawing import all_draws
        all_draws()
        folders = [CHECKS, CHECKS.parents[1] / "instructor" / "checks"]
        verdicts_in(folders, read_manifest(MANIFEST).checks)
        print(*(getattr(module, "__file__", "") for module in [*sys.modules.values()]), sep="\\n")
    """
    words = [sys.executable, "-c", script]
    done = subprocess.check_output(words, cwd=ROOT, encoding="utf-8")
    ours = [Path(line) for line in done.splitlines() if Path(line).is_relative_to(ROOT)]
    names = {path.relative_to(ROOT).as_posix() for path in ours if ".venv" not in path.parts}
    paths = [path for pattern in SHARED for path in ROOT.glob(pattern)]
    shared = {path.relative_to(ROOT).as_posix() for path in paths}
    of_checks = {name for name in names if name.startswith(("src/checks/", "instructor/checks/"))}
    lists = re.compile(r"src/jobs/(deliverables|.*contents).py|.*/__init__.py")
    left = names - shared - of_checks
    assert len(of_checks) > 60 and not [name for name in left if not lists.fullmatch(name)]
    for name in of_checks:  # of another question, only those on which the own one builds
        own = re.search(r"/q(\d[a-z])", name)
        text = (ROOT / name).read_text(encoding="utf-8")
        for other in re.findall(r"checks\.problem\d\.q(\d[a-z])", text) if own else ():
            assert other in {own[1], *WHOLE.bases(own[1])}, name


def test_released_rounds_count_for_their_question(tmp_path, monkeypatch):
    shutil.copytree(RELEASED, tmp_path / "cases")
    monkeypatch.setattr("instructor.grading.fingerprint.Rounds", lambda: Rounds(tmp_path / "cases"))
    before = Fingerprints(WHOLE, Setting()).wanted
    with zipfile.ZipFile(tmp_path / "cases" / "6e.zip", "a") as file:
        file.writestr("6e-0-basic/99", b"another round")
    touched = changed(before, Fingerprints(WHOLE, Setting()).wanted)
    built_on = {id for id in WHOLE.questions if "6e" in {id, *WHOLE.bases(id)}}
    assert "6e" in touched and touched <= built_on


@pytest.mark.full
def test_our_code_counts_where_it_is_built_on_and_given_files_everywhere(tmp_path, monkeypatch):
    ours, given = map(shutil.copytree, (SOLUTION, STARTER), (tmp_path / "ours", tmp_path / "given"))
    monkeypatch.setattr(Setting, "reference", ours)
    monkeypatch.setattr("instructor.grading.fingerprint.GIVEN", given)
    some, on_encoder = {*"1c 1h 5d 5e 5f 5g".split()}, {"5e", "5f", "5g"}
    encoders = {given / "problem5/encoder.py": set(), ours / "problem5/encoder.py": on_encoder}
    changes = encoders | {given / "trainer.py": some}
    for path, touched in changes.items():
        before = Fingerprints(WHOLE, Setting(hidden=True)).wanted
        path.write_text("# changed\n", encoding="utf-8")
        found = changed(before, Fingerprints(WHOLE, Setting(hidden=True)).wanted)
        assert found & some == touched and bool(found) == bool(touched)


@pytest.mark.full
def test_data_answers_and_settings_count_where_they_are_used(tmp_path, monkeypatch):
    digest = digest_submission(hand_in(tmp_path, "ada") / "ada")
    assert seed_for(1, digest) == seed_for(1, digest) != seed_for(2, digest)

    def fingerprints(gold=ROOT / "instructor" / "gold", **settings):
        manifest = replace(WHOLE, settings=WHOLE.settings | settings)
        return Fingerprints(manifest, Setting(hidden=True, gold=gold)).wanted

    before = fingerprints()
    assert all(before.values()) and before["1c-0-basic"] != before["1h-2-basic"]
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.setattr("checks.support.context.DATA", tmp_path / "data")
    of_results = {id for id in before if CHECKS[id].artifacts}
    of_problem_5 = {id for id in before if id.startswith("5")}
    changes = [(fingerprints(), set()), (fingerprints(tmp_path), of_results | of_problem_5)]
    changes += [(fingerprints(accuracy={}), of_results), (fingerprints(nothing={}), set())]
    for name in ("hand_attention.json", "occupations/train.tsv"):
        with open(tmp_path / "data" / name, "a", encoding="utf-8") as file:
            file.write("\n")
        changes.append((fingerprints(), of_problem_5))
        shutil.copy(ROOT / "data" / name, tmp_path / "data" / name)
    for after, touched in changes:
        assert {id for id in before if after[id] != before[id]} == touched
