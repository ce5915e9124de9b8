"""Finding submissions as three systems export them, whose they are, and how late."""

import os
import time
import zipfile
from datetime import UTC, datetime, timedelta

import pytest

from checks.support.staging import stage
from common.files import UserError
from helpers import SOLUTION
from instructor.grading.finding.find import Found, find_submissions
from instructor.grading.finding.late import days_late, deadline, parse_due, penalty
from instructor.grading.finding.roster import Roster, read_roster

CODE = (SOLUTION / "model.py").read_bytes()


def lay(folder, names):
    """Put files with code into a folder, by names with " | " between; "a -> b" is a link."""
    for name in names.split(" | "):
        path = folder / name.partition(" -> ")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        if "->" in name:
            path.symlink_to(name.partition(" -> ")[2])
        elif name.endswith("/"):
            path.mkdir()
        elif path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("model.py", CODE)
        else:
            path.write_bytes(CODE)
    return folder


def roster(tmp_path, text, encoding="utf-8", **options):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding, "surrogateescape"))
    return read_roster(path, **options)


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
    staged = [path.read_bytes() for path in tmp_path.glob("staged/*/submission/model.py")]
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


# Whose it is


def matched(people, *identities, person="x"):
    return people.match(Found(None, "label", None, person, identities))


GRADEBOOK = """Student,ID,SIS User ID,SIS Login ID,Section,  HW 5:  Attention (98765) \
,HW 5 (7),hw5 (8)
,,,,,Manual Posting,,
    Points Possible,,,,,146,9,9
"Müller, Jörg",1234,u1,jmueller,"A, B", EX ,1,EX
"Lee, Ann Marie",22,u2,alee,A,12,EX,1
"Lee, Ann Marie",23,u3,alee2,A
"Student, Test",99,,,A,
"""
COLUMNS = {  # by the assignment's title: the column, and who is excused there
    "hw 5: attention": ("  HW 5:  Attention (98765) ", ["jmueller"]),
    "HW 5: Attention (98765)": ("  HW 5:  Attention (98765) ", ["jmueller"]),
    "HW5 (7)": ("HW 5 (7)", ["alee"]),
    **dict.fromkeys(("HW 5", "Attention", "Section", ""), ("", [])),
}


def test_canvas_gradebook_tells_who_is_excused_and_whose_a_submission_is(tmp_path):
    for title, (column, excused) in COLUMNS.items():
        people = roster(tmp_path, GRADEBOOK, title=title)
        assert people.column == column and people.is_gradebook, title
        assert [person.id for person in people.people if person.excused] == excused
    jorg, ann, ann2 = people.people
    assert [jorg.id, ann.id, ann2.id] == ["jmueller", "alee", "alee2"]
    assert (jorg.name, jorg.section) == ("Müller, Jörg", "A, B")
    assert (jorg.canvas_id, jorg.sis_id) == ("1234", "u1")
    for name in ("mullerjorg", "Jörg Müller", "JÖRG MU\u0308LLER", "müller_jörg"):
        assert matched(people, ("name", name)) == (jorg, ""), name
    assert matched(people, ("canvas_id", "23"), ("name", "leeannmarie")) == (ann2, "")
    stranger, remark = matched(people, ("canvas_id", "7"), ("name", "mullerjorg"), person="m_7")
    assert (stranger.id, stranger.name, stranger.canvas_id) == ("m_7", "mullerjorg", "7")
    assert not stranger.enrolled and not remark
    stranger, remark = matched(people, ("any", "Ann Marie Lee"), person="Ann Marie Lee")
    assert not stranger.enrolled and stranger.id == "Ann Marie Lee"
    assert remark.startswith("Ann Marie Lee ") and "alee, alee2" in remark
    stranger, _ = matched(roster(tmp_path, "id\nAnn\n"), ("canvas_id", "9"), person="ann")
    assert stranger.id == "ann (not in the roster)"
    person, remark = matched(Roster(), ("name", "Ann"), ("email", "a@x"), person="a@x")
    assert (person.id, person.name, person.email, remark) == ("a@x", "Ann", "a@x", "")
    assert person.enrolled, "without a roster, everybody is"


ROSTERS = [  # the file, who is in it, and what a name may say with whose that is
    (
        "id,name,email,github,canvas_id\na1,Ann Lee,ann@x.edu,AnnL,\nb2,Bob,,,44\n",
        "a1 b2",
        "A1=a1 ANNL=a1 ann@x.edu=a1 lee,ann=a1 44=b2 c3=",
    ),
    ("sep=;\r\nid;name\r\na1;Ann Lee\r\nb2;Bob\r\n", "a1 b2", "annlee=a1"),
    (
        "First Name,Last Name,SID,Email,Role,Sections\n"
        "Ann,Lee,12,ann@x.edu,Student,A\nT,A,1,ta@x.edu,TA,\n",
        "ann@x.edu",
        "12=ann@x.edu",
    ),
    ("Name\tEmail\tSection\nAnn Lee\tann@x.edu\tA\n\t\t\n", "ann@x.edu", ""),
    ('"identifier","github_username","name"\n"ann@x","annl",""\n', "ann@x", "annl=ann@x"),
    (
        "Identifier,Full name,ID number,Email address\nParticipant 4,Ada,1,a@x\n",
        "Participant 4",
        "a@x=Participant_4",
    ),
    ("id,name\nAnn,Bob\n1,นิด\n2,นัด\n", "Ann 1 2", "นิด=1 นัด=2"),
    ("email,name,section\nada@x,Ada,A\n,,B\n", "ada@x", ""),
]


@pytest.mark.parametrize("text, ids, looked_up", ROSTERS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rosters_of_other_systems(tmp_path, text, ids, looked_up, encoding):
    people = roster(tmp_path, text, encoding)
    assert " ".join(person.id for person in people.people) == ids
    for value, _, id in (pair.partition("=") for pair in looked_up.split()):
        person, _ = matched(people, ("any", value))
        assert (person.id if person.enrolled else "") == id.replace("_", " ")


# When it was due


DUE = {
    "2026-12-01 23:59 +01:00": "2026-12-01T22:59:00",
    "2026-12-01T23:59Z": "2026-12-01T23:59:00",
    "2026-12-01 +00:00": "2026-12-01T23:59:59",
    "2026-12-01 23:59 America/Los_Angeles": "2026-12-02T07:59:00",
    "2026-07-01 9:05 Europe/Zurich": "2026-07-01T07:05:00",
}
NO_DATES = [
    *("", "tomorrow", "1.12.2026", "2026-13-01 10:00", "2026-12-01 25:00"),
    *("2026-12-01 10:00 Nowhere/City", "2026-12-01 10:00 +99:00"),
    "2026-12-01 10:00 ../../etc/passwd",
]


def test_due_dates():
    for text, expected in DUE.items():
        assert parse_due(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC), text
    for text in NO_DATES:
        with pytest.raises(UserError, match="Write it as '2026-12-01 23:59'"):
            parse_due(text)


@pytest.mark.parametrize("name", ["America/New_York", "/usr/share/zoneinfo/America/New_York"])
def test_a_due_date_without_a_zone_is_local_and_knows_clock_changes(monkeypatch, name):
    monkeypatch.setenv("TZ", name)
    time.tzset()
    try:
        due = parse_due("2026-10-31 20:00")
        assert due == datetime(2026, 11, 1, 0, 0, tzinfo=UTC)
        assert deadline(due, 1) == datetime(2026, 11, 2, 1, 0, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_days_late():
    due = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
    late = {-60: 0, 0: 0, 15: 0, 16: 1, 24 * 60: 1, 24 * 60 + 1: 2, 71 * 60: 3}
    for minutes, days in late.items():
        for extension in (0, 2):
            submitted = due + timedelta(days=extension, minutes=minutes)
            assert days_late(submitted, due, grace_minutes=15, extension=extension) == days
    assert days_late(None, due) == 0
    assert days_late(due, due, marked_late=True) == 0, "the time counts where it is known"
    for unknown, extension, days in ((1, 0, 1), (3, 0, 3), (0, 0, 0), (3, 1, 2), (1, 2, 0)):
        options = {"unknown_days": unknown, "extension": extension}
        assert days_late(None, None, marked_late=True, **options) == days
        assert days_late(None, None, marked_late=False, **options) == 0
    lost = [penalty(days, 0.1, free_days=2, cap=0.25) for days in range(6)]
    assert lost == [0, 0, 0, 0.1, 0.2, 0.25] and penalty(20, 0.1) == 1.0


@pytest.mark.parametrize(
    "due, submitted, days",
    [
        # Clocks in New York go back on 1 November 2026 at 06:00 UTC: the day has 25 hours.
        ("2026-10-31 20:00", "2026-11-02T01:00Z", 1),
        ("2026-10-31 20:00", "2026-11-02T01:01Z", 2),
        # They go forward on 14 March 2027 at 07:00 UTC: the day has 23 hours.
        ("2027-03-13 20:00", "2027-03-15T00:00Z", 1),
        ("2027-03-13 20:00", "2027-03-15T00:01Z", 2),
        # A time that comes twice is over when it was there the second time.
        ("2026-11-01 01:30", "2026-11-01T06:30Z", 0),
        ("2026-11-01 01:30", "2026-11-01T06:31Z", 1),
        # A time that is skipped is an hour later.
        ("2027-03-13 02:30", "2027-03-14T07:30Z", 1),
        ("2027-03-13 02:30", "2027-03-14T07:31Z", 2),
    ],
)
def test_days_late_end_at_the_same_time_of_day_when_clocks_change(due, submitted, days):
    due, submitted = parse_due(f"{due} America/New_York"), datetime.fromisoformat(submitted)
    for where in (submitted, submitted.astimezone(due.tzinfo)):
        assert days_late(where, due) == days
    assert days_late(submitted, due, extension=1) == max(0, days - 1)
