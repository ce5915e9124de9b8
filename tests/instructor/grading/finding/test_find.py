"""Finding submissions as three systems export them, and whose clones they are."""

import os
from datetime import UTC, datetime

import pytest
from classes import CODE
from downloads import lay, roster

from checks.support.staging import stage
from common.files import UserError
from instructor.grading.finding.find import find_submissions

LAYOUT = {  # by person: what lies in the class, and what is said of it; "" if it can be staged
    "as folder": ("as folder/model.py", ""),
    "nested": ("nested/hw5/src/submission/model.py", ""),
    "release": ("release/src/submission/model.py | release/src/checks/given/model.py", ""),
    "old": ("old/src/submission/model.py | old/old/src/submission/model.py | old/model.py", ""),
    "top": ("top/code/model.py | top/code/old/model.py", ""),
    "named": ("named/a/submission/model.py | named/b/model.py", ""),
    "hidden": ("hidden/code/model.py | hidden/.venv/model.py | hidden/__MACOSX/a/model.py", ""),
    "zip inside": ("zip inside/1/2/3/4/5/6/hw.ZIP", ""),
    "bob": ("bob.rar", "It is a single .rar file, not a zip. Hand in the submission.zip"),
    "cleo": ("cleo.py", "It is a single .py file"),
    "dan": ("dan/a/attention (1).py", "; there is 'a/attention (1).py': rename it. Hand in"),
    "eve": ("eve/old/model.py | eve/new/model.py", "files in several folders, new and old."),
    "gus": ("gus.zip -> ann.zip", "It is a link"),
    "hal": ("hal -> /etc", "It is a link"),
    "jo": ("jo/1.zip | jo/2.zip", "It has 2 zip files"),
    "kim": ("kim/src -> /etc", "It has none of"),
    "lea": ("lea/hw.zip -> ../ann.zip", "It has none of"),
}
NAMES = {  # as it is there: as it is said
    **{name: name for name in ("ann", "Zoë O'Brien", 'quo"te', "名前", "=1+2", "x" * 240)},
    "new\nline": "new line",
    "Zoe\u0308 \x1b[31m\u202ered": "Zoë [31mred",
    "\udcff": "\\udcff",
}


def test_nobodys_hand_in_disappears(tmp_path):
    folder = tmp_path / "class"
    for names in (*(f"{name}.zip" for name in NAMES), *(names for names, _ in LAYOUT.values())):
        lay(folder, names)
    lay(folder, "__MACOSX/ | .DS_Store | Thumbs.db | .hidden.zip | grades.csv | index.html")
    os.mkfifo(folder / "ian.zip")
    expected = {name: said for name, (_, said) in LAYOUT.items()} | {"ian": "It is neither"}
    expected |= dict.fromkeys(NAMES.values(), "")
    everything = find_submissions(folder)
    # papers count if they are somebody's
    assert [item.label for item in everything if item.paper] == ["grades.csv", "index.html"]
    found = {item.person: item for item in everything if not item.paper}
    assert found.keys() == expected.keys()
    assert {f"{name}.zip" for name in NAMES} < {item.path.name for item in everything}
    for number, (person, item) in enumerate(found.items()):
        assert bool(item.problem) == bool(expected[person]) and expected[person] in item.problem
        assert (item.submitted, item.late, item.system) == (None, None, "")
        if not item.problem:
            stage(item.source, tmp_path / "staged" / str(number))
    staged = [path.read_text("utf-8") for path in tmp_path.glob("staged/*/submission/model.py")]
    assert staged == [CODE] * list(expected.values()).count("")
    os.utime(folder / "ann.zip", (0, 0))
    assert find_submissions(folder) == everything, "the order depends on names alone"


M = "assignsubmission_"
# The name: person, identities, late, problem; the oldest file of a person first. Papers beside
# somebody's zip are passed over; of loose files the last one is listed.
DOWNLOADS = {
    "canvas": {
        "leeannmarie_22_77_hw.zip": ("leeannmarie_22", "canvas_id=22 name=leeannmarie", False, ""),
        "leeannmarie_22_501_a.zip": ("leeannmarie_22", "canvas_id=22 name=leeannmarie", False, ""),
        "lee_LATE_1234_6_a b.zip": ("lee_1234", "canvas_id=1234 name=lee", True, ""),
        "anon_x7Yz1_LATE_601_a.zip": ("anon_x7Yz1", "", True, ""),
        "Student_1235_602_a.zip": ("Student_1235", "canvas_id=1235", False, ""),
        "陳大文_1236_603_作業.zip": ("陳大文_1236", "canvas_id=1236 name=陳大文", False, ""),
        "kimjo_30_1000_b.txt": ("kimjo_30", "canvas_id=30 name=kimjo", False, "2 loose files"),
        "poelu_31_text.html": ("poelu_31", "canvas_id=31 name=poelu", False, "single .html"),
        "kimjo_30_999_a.py": None,
        "lee_LATE_1234_7_report.pdf": None,
    },
    "moodle": {
        f"Ada Love_4_{M}file_/hw.zip": ("Ada Love_4", "id=Participant 4 name=Ada Love", None, ""),
        f"Wei_12_{M}file/hw.zip": ("Wei_12", "id=Participant 12 name=Wei", None, ""),
        f"Bo_13_{M}file_hw.zip": ("Bo_13", "id=Participant 13 name=Bo", None, ""),
        f"Ann Lee_15_{M}file_a.py": ("Ann Lee_15", "id=Participant 15 name=Ann Lee", None, ".py"),
        f"Bo_13_{M}onlinetext.html": None,
    },
    "": {  # only files lose the ends of their names: an id may have a dot
        "ada@uni.py/model.py": ("ada@uni.py", "any=ada@uni.py", None, ""),
        "bob.zip": ("bob", "any=bob", None, ""),
        "eve.git/model.py": ("eve", "any=eve", None, ""),
        "j.doc/model.py": ("j.doc", "any=j.doc", None, ""),
    },
}


@pytest.mark.parametrize("system", DOWNLOADS)
def test_downloads_of_canvas_and_moodle_and_plain_folders(tmp_path, system):
    lay(tmp_path, " | ".join(DOWNLOADS[system]))
    expected = {name: said for name, said in DOWNLOADS[system].items() if said}
    found = find_submissions(tmp_path)
    assert len(found) == len(expected) and {item.system for item in found} == {system}
    by_name = {item.path.name: item for item in found}
    for name, (person, identities, late, problem) in expected.items():
        item = by_name[name.partition("/")[0]]
        known = " ".join(f"{field}={value}" for field, value in item.identities)
        assert (item.person, known, item.late) == (person, identities, late)
        assert problem in item.problem and bool(problem) == bool(item.problem)
    in_order = [item.path.name for item in found if item.person == "leeannmarie_22"]
    assert in_order == [name for name in expected if "leeann" in name]


METADATA = r"""---
submission_1:
  :submitters:
  - {":name": Ann Lee, ":sid": '0012', ":email": ann@x.edu}
  - :name: "B\u00f6b\n <b>"
    :sid: ~
    :email: bob@x.edu
  :created_at: 2026-10-03 23:11:08.123456000 -07:00
  :results: {tests: [{output: "%s"}]}
submission_10:
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: 2026-10-04 04:55:23.527000000 Z
    zone: &1 !ruby/object:ActiveSupport::TimeZone
      name: Etc/UTC
  :submitters: [{":name": Cleo, ":zone": *1}]
submission_12: {":submitters": [{":name": Gone}]}
../../submission_13: {":submitters": [{":name": Out}]}
"""


@pytest.mark.parametrize("wrapped", [False, True])
def test_gradescope(tmp_path, wrapped):
    export = tmp_path / "assignment_5_export"
    lay(export, " | ".join(f"submission_{number}/model.py" for number in (1, 2, 10)))
    (export / "submission_metadata.yml").write_text(METADATA, encoding="utf-8")
    ann, bob, nobody, cleo, gone = find_submissions(tmp_path if wrapped else export)
    people = [item.person for item in (ann, bob, nobody, cleo, gone)]
    assert people == ["ann@x.edu", "bob@x.edu", "submission_2", "Cleo", "Gone"]
    assert ann.source == bob.source == export / "submission_1"
    known = {"email": "ann@x.edu", "sis_id": "0012", "id": "0012", "name": "Ann Lee"}
    assert dict(ann.identities) == known
    assert bob.identities == (("email", "bob@x.edu"), ("name", "Böb <b>"))
    assert ann.submitted == datetime(2026, 10, 4, 6, 11, 8, tzinfo=UTC)
    assert cleo.submitted == datetime(2026, 10, 4, 4, 55, 23, tzinfo=UTC)
    assert nobody.identities == () and nobody.submitted is None and nobody.problem == ""
    assert "not contain" in gone.problem


LAUGHS = "submission_0: &a {x: [1]}\n" + "".join(
    f"{name}: &{name} {{<<: [{','.join(['*' + before] * 9)}]}}\n"
    for before, name in zip("abcdefghijklmnopqrstuvwx", "bcdefghijklmnopqrstuvwxy")
)
HARMLESS = (
    LAUGHS,
    "submission_0: {a: !!python/object/apply:os.system ['touch HARMED']}\n",
    "submission_0: {':created_at': [2026]}",
    *("submission_0: ~", "submission_0: {':submitters': ~}"),
    "submission_0: {':submitters': [x, [y], {':name': [z]}]}",
    "submission_0: {':created_at': 2026-99-03 23:11:08}",
    "submission_0: {':created_at': 0001-01-01 00:00:00 +23:59}",
)
DAMAGED = (
    *("", "- a list", "just text", "\0", "submission_1: *nothing", "? [a]\n: b\n", "a: &a [*a]"),
    *("{" * 50_000, "submission_1: " + "[" * 50_000, "a: " + "- " * 50_000),
    "submission_1: [unclosed",
)


def test_damaged_or_hostile_metadata(tmp_path, monkeypatch):
    monkeypatch.chdir(lay(tmp_path, "e/submission_0/model.py"))

    def find(metadata):
        (tmp_path / "e" / "submission_metadata.yml").write_text(metadata, encoding="utf-8")
        return find_submissions(tmp_path / "e")

    for text in DAMAGED:
        with pytest.raises(UserError, match="metadata.yml.* Export it again"):
            find(text)
    for text in HARMLESS:
        (found,) = find(text)
        assert (found.person, found.submitted, found.problem) == ("submission_0", None, "")
    for key in ("utc", "time"):
        (found,) = find(f"submission_0: {{':created_at': {{{key}: 2026-10-03 23:11:08.5 -07:00}}}}")
        assert found.submitted == datetime(2026, 10, 4, 6, 11, 8, tzinfo=UTC)
    assert not (tmp_path / "HARMED").exists()


@pytest.mark.parametrize(
    "clones, ids, owners",
    [
        ("hw-5-ann-b hw-5-Bob", "ann-b bob", "bob ann-b"),
        ("ada.git ben.git", "ada ben", "ada ben"),
        ("hw5-ada hw5-ben folder:hw5-cy", "ada ben cy", "ada ben cy"),
        ("hw5-cs-ada hw5-cs-alan", "cs-ada cs-alan", "cs-ada cs-alan"),
        ("hw5-cs-ada hw5-cs-alan", "ada alan", "ada alan"),
        ("hw5-ada hw5-ann-lee hw5-lee", "ada lee", "ada (ann-lee) lee"),
        ("hw5-ada", "ada", "(hw5-ada)"),
    ],
)
def test_whose_clone_it_is_says_its_folder_after_what_all_begin_with(tmp_path, clones, ids, owners):
    for name in clones.split():
        clone = lay(tmp_path / "class" / name.removeprefix("folder:"), "src/submission/model.py")
        if "folder:" not in name:
            lay(clone, ".git/")
    people = roster(tmp_path, "id\n" + "\n".join(ids.split()))
    found = find_submissions(tmp_path / "class")
    persons = [people.match(item)[0] for item in found]
    names = [person.id if person.enrolled else f"({person.id})" for person in persons]
    assert " ".join(names) == owners
    assert clone / "src" / "submission" in [item.source for item in found]
    zoe = find_submissions(lay(tmp_path / "class", "zoe.zip"))[-1]
    assert zoe.person == "zoe" and not zoe.repository


PART = "is a part of a download. Unpack all parts into one folder"  # Canvas, Drive and GitHub


@pytest.mark.parametrize(
    "names, folder, part",
    [
        ("other/", "class", "does not exist"),
        ("class/.hidden.zip", "class", "has no submissions: expected one zip or folder"),
        ("class.zip", "class.zip", "is a file: unpack it"),
        ("class/model.py", "class", "is a single submission"),
        ("class/submissions-001.zip | class/submissions-002.zip", "class", PART),
        ("class/H-20260101T000000Z-1-001.zip | class/H-20260101T000000Z-1-002.zip", "class", PART),
        ("class/h-submissions-1/a.zip | class/h-submissions-2/b.zip | class/x.csv", "class", PART),
    ],
)
def test_no_folder_of_submissions(tmp_path, names, folder, part):
    with pytest.raises(UserError, match=part):
        find_submissions(lay(tmp_path, names) / folder)
    (one,) = find_submissions(lay(tmp_path / "one", "hw-submissions/model.py"))
    assert one.person == "hw-submissions", "a folder that is called so"
