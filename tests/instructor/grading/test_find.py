"""Finding submissions as three systems export them, whose they are, and how late."""

import os
import time
import zipfile
from datetime import UTC, datetime, timedelta

import pytest

from checks.support.staging import stage
from common.files import UserError
from conftest import SOLUTION
from instructor.grading.finding.find import find_submissions
from instructor.grading.finding.late import days_late, deadline, parse_due, penalty
from instructor.grading.finding.roster import Roster, read_roster

CODE = (SOLUTION / "model.py").read_bytes()
CANVAS_ROSTER = """Student,ID,SIS User ID,SIS Login ID,Section,HW5 (77)
,,,,,Manual Posting
    Points Possible,,,,,64
"Müller, Jörg",1234,u1,jmueller,"A, B",
"Lee, Ann Marie",22,u2,alee,A,
"Lee, Ann Marie",23,u3,alee2,A,
"Student, Test",99,,,A,
"""


def zipped(path, *names):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names or ("model.py",):
            archive.writestr(name, CODE)
    return path


def code(folder):
    folder.mkdir(parents=True)
    (folder / "model.py").write_bytes(CODE)
    return folder


def by_label(folder):
    found = find_submissions(folder)
    assert len({(one.label, one.person) for one in found}) == len(found)
    return {one.label: one for one in found}


def roster(tmp_path, text, encoding="utf-8", **options):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding))
    return read_roster(path, **options)


# Layouts


def test_plain_zips_and_folders_of_any_name_are_found_and_can_be_staged(tmp_path):
    class_ = tmp_path / "class"
    names = ["ann", "Zoë O'Brien", 'quo"te', "new\nline", "名前", "=1+2", "x" * 240]
    for name in names:
        zipped(class_ / f"{name}.zip")
    code(class_ / "as folder")
    code(class_ / "nested" / "hw5" / "src" / "submission")
    (
        code(class_ / "repository" / "src" / "submission"),
        code(class_ / "repository" / "src" / "checks" / "given"),
    )
    zipped(class_ / "zip inside" / "deep" / "hw.ZIP")
    found = by_label(class_)
    assert {one.person for one in found.values()} == {
        *(" ".join(name.split()) for name in names),
        "as folder",
        "nested",
        "repository",
        "zip inside",
    }
    assert found["nested"].source == class_ / "nested" / "hw5" / "src" / "submission"
    assert found["repository"].source == class_ / "repository" / "src" / "submission"
    for number, one in enumerate(found.values()):
        assert one.problem == "" and one.submitted is None and one.late is None
        stage(one.source, tmp_path / str(number))
        assert (tmp_path / str(number) / "submission" / "model.py").read_bytes() == CODE


def test_what_is_no_submission_is_passed_over(tmp_path):
    zipped(tmp_path / "ann.zip")
    (tmp_path / "__MACOSX").mkdir()
    for name in (".DS_Store", "Thumbs.db", "grades.csv", "index.html", ".hidden.zip"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert [label for label, one in by_label(tmp_path).items() if not one.paper] == ["ann.zip"]
    # unless they are somebody's
    assert [label for label, one in by_label(tmp_path).items() if one.paper] == [
        "grades.csv",
        "index.html",
    ]


def test_nobodys_hand_in_disappears(tmp_path):
    zipped(tmp_path / "ann.zip")
    (tmp_path / "bob.rar").write_text("Rar!", encoding="utf-8")
    (tmp_path / "cleo.py").write_text("x = 1", encoding="utf-8")
    (tmp_path / "dan").mkdir()
    (tmp_path / "dan" / "attention (1).py").touch()
    code(tmp_path / "eve" / "old"), code(tmp_path / "eve" / "new")
    code(tmp_path / "fay" / "1" / "2" / "3" / "4" / "5" / "6")
    os.symlink(tmp_path / "ann.zip", tmp_path / "gus.zip")
    os.symlink("/etc", tmp_path / "hal")
    os.mkfifo(tmp_path / "ian.zip")
    zipped(tmp_path / "jo" / "1.zip"), zipped(tmp_path / "jo" / "2.zip")
    (tmp_path / "kim").mkdir()
    os.symlink("/etc", tmp_path / "kim" / "src")
    (tmp_path / "lea").mkdir()
    os.symlink(tmp_path / "ann.zip", tmp_path / "lea" / "hw.zip")
    found = find_submissions(tmp_path)
    assert [one.person for one in found] == [
        "ann",
        "bob",
        "cleo",
        "dan",
        "eve",
        "fay",
        "gus",
        "hal",
        "ian",
        "jo",
        "kim",
        "lea",
    ]
    problems = {one.person: one.problem for one in found}
    for person, part in {
        "bob": "not a zip",
        "cleo": "a single",
        "dan": "; there is 'attention (1).py': rename it. Ask for",
        "eve": "new and old",
        "fay": "many folders",
        "gus": "link",
        "hal": "link",
        "ian": "neither",
        "jo": "2 zip files",
        "kim": "has none of",
        "lea": "has none of",
    }.items():
        assert part in problems.pop(person)
    assert problems == {"ann": ""}


def test_a_zip_in_a_zip_and_a_page_saved_as_zip_are_left_for_staging_which_says_what_to_do(
    tmp_path,
):
    zipped(tmp_path / "class" / "ann.zip", "inner.zip")
    (tmp_path / "class" / "bob.zip").write_text("<html>Sign in</html>", encoding="utf-8")
    ann, bob = find_submissions(tmp_path / "class")
    with pytest.raises(UserError, match="It has inner.zip. Put them directly into it"):
        stage(ann.source, tmp_path / "a")
    with pytest.raises(UserError, match="not a zip file, or is damaged. Make a new zip"):
        stage(bob.source, tmp_path / "b")


def test_many_folders_are_not_searched_without_end(tmp_path):
    for number in range(300):
        (tmp_path / "ann" / str(number)).mkdir(parents=True)
    assert "many folders" in find_submissions(tmp_path)[0].problem


def test_canvas(tmp_path):
    for name in (
        "leeannmarie_22_501_hw-2.zip",
        "leeannmarie_22_501_hw.zip",
        "leeannmarie_22_77_hw.zip",
        "mullerjorg_LATE_1234_600_my_hw 5.zip",
        "anon_x7Yz1_LATE_601_a.zip",
        "Student_1235_602_a.zip",
        "陳大文_1236_603_作業.zip",
    ):
        zipped(tmp_path / name)
    for name in (
        "kimjo_30_700_model.py",
        "kimjo_30_701_helper.py",
        "kimjo_30_702_notes.txt",
        "poelu_31_text.html",
    ):
        (tmp_path / name).write_text("x", encoding="utf-8")
    found = by_label(tmp_path)
    assert [name for name in found if name.startswith("lee")] == [
        "leeannmarie_22_77_hw.zip",
        "leeannmarie_22_501_hw.zip",
        "leeannmarie_22_501_hw-2.zip",
    ], "not from the oldest to the newest"
    late = found["mullerjorg_LATE_1234_600_my_hw 5.zip"]
    assert (late.late, late.identities, late.person) == (
        True,
        (("canvas_id", "1234"), ("name", "mullerjorg")),
        "mullerjorg_1234",
    )
    anonymous = found["anon_x7Yz1_LATE_601_a.zip"]
    assert (anonymous.late, anonymous.identities, anonymous.person) == (True, (), "anon_x7Yz1")
    assert found["Student_1235_602_a.zip"].identities == (("canvas_id", "1235"),)
    assert found["陳大文_1236_603_作業.zip"].late is False
    assert [one.problem[:19] for one in found.values() if one.person == "kimjo_30"] == [
        "It is 3 loose files"
    ]
    assert "not a zip" in found["poelu_31_text.html"].problem


MOODLE_ROSTER = """Identifier,Full name,ID number,Email address,Status,Grade
Participant 4711,Ada Lovelace,100,ada@x.edu,Submitted,
Participant 12,Wei Zhang,101,wei@x.edu,Submitted,
Participant 13,Wei Zhang,102,zhang@x.edu,Submitted,
"""


@pytest.mark.parametrize("ending", ["_/hw.zip", "/hw.zip", "_hw.zip"])
def test_moodle(tmp_path, ending):
    names = ("Ada Lovelace_4711", "Wei Zhang_12", "Participant_13", "Grace Hopper_14")
    for name in names:
        zipped(tmp_path / "class" / f"{name}_assignsubmission_file{ending}")
    (tmp_path / "class" / "Ada Lovelace_4711_assignsubmission_onlinetext.html").touch()
    (tmp_path / "class" / "Ann Lee_15_assignsubmission_file_model.py").touch()
    found = find_submissions(tmp_path / "class")
    problems = {one.person: one.problem for one in found}
    assert "not a zip" in problems.pop("Ann Lee_15")
    assert problems == dict.fromkeys(names, "") and {one.late for one in found} == {None}
    worksheet = roster(tmp_path, MOODLE_ROSTER)
    ids = {one.person: worksheet.match(one)[0].id for one in found}
    assert [ids[name] for name in names] == [
        *("Participant 4711", "Participant 12", "Participant 13", "Grace Hopper_14")
    ]
    other = roster(tmp_path, "id,name\nal1,Lovelace Ada\n4711,Bob Ray\n")
    assert [other.match(one)[0].id for one in found if one.person == names[0]] == ["al1"]


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
    for number in (1, 2, 10):
        code(export / f"submission_{number}")
    (export / "submission_metadata.yml").write_text(METADATA, encoding="utf-8")
    found = find_submissions(tmp_path if wrapped else export)
    assert [one.person for one in found] == [
        "ann@x.edu",
        "bob@x.edu",
        "submission_2",
        "Cleo",
        "Gone",
    ]
    ann, bob, nobody, cleo, gone = found
    assert ann.source == bob.source == export / "submission_1"
    assert ann.identities == (
        ("email", "ann@x.edu"),
        ("sis_id", "0012"),
        ("id", "0012"),
        ("name", "Ann Lee"),
    )
    assert bob.identities == (("email", "bob@x.edu"), ("name", "Böb <b>"))
    assert ann.submitted == datetime(2026, 10, 4, 6, 11, 8, tzinfo=UTC)
    assert cleo.submitted == datetime(2026, 10, 4, 4, 55, 23, tzinfo=UTC)
    assert nobody.identities == () and nobody.submitted is None and nobody.problem == ""
    assert "does not contain it" in gone.problem


LAUGHS = (
    "a: &a {x: ["
    + "1," * 9
    + "]}\n"
    + "".join(
        f"{name}: &{name} {{<<: [{','.join(['*' + before] * 9)}], y: "
        f"[{','.join(['*' + before] * 9)}]}}\n"
        for before, name in zip("abcdefghijklmnopqrstuvwx", "bcdefghijklmnopqrstuvwxy")
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a list",
        "just text",
        "{" * 50_000,
        "submission_1: " + "[" * 50_000,
        "\0",
        "submission_1: [unclosed",
        LAUGHS,
        "submission_1: !!python/object/apply:os.system ['touch HARMED']\n",
        "submission_1: *nothing",
        "? [a]\n: b\n",
        "submission_1: {':submitters': {':name': x}, ':created_at': [2026]}",
        "submission_1: {':submitters': [x, [y], {':name': [z]}]}",
        "submission_1: {':created_at': 2026-99-03 23:11:08}",
        "submission_1: {':created_at': 0001-01-01 00:00:00 +23:59}",
    ],
    ids=range(15),
)
def test_damaged_or_hostile_metadata_costs_no_submission(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    code(tmp_path / "e" / "submission_1")
    (tmp_path / "e" / "submission_metadata.yml").write_text(text, encoding="utf-8")
    (one,) = find_submissions(tmp_path / "e")
    assert one.person == "submission_1" and one.submitted is None and one.problem == ""
    assert not (tmp_path / "HARMED").exists()


def test_what_stands_before_the_damage_counts(tmp_path):
    code(tmp_path / "submission_1"), code(tmp_path / "submission_2")
    (tmp_path / "submission_metadata.yml").write_text(
        "submission_1: {':submitters': [{':name': Ann}]}\nsubmission_2: {]", encoding="utf-8"
    )
    assert [one.person for one in find_submissions(tmp_path)] == ["Ann", "submission_2"]


@pytest.mark.parametrize(
    "clones, ids, expected",
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
def test_whose_clone_it_is_says_its_folder_after_what_all_begin_with(
    tmp_path, clones, ids, expected
):
    for clone in clones.split():
        name = clone.removeprefix("folder:")
        home = code(tmp_path / "class" / name / "src" / "submission")
        if name == clone:
            (tmp_path / "class" / name / ".git").mkdir()
    people = roster(tmp_path, "id\n" + "\n".join(ids.split()))
    found = find_submissions(tmp_path / "class")
    persons = [people.match(one)[0] for one in found]
    assert " ".join(one.id if one.enrolled else f"({one.id})" for one in persons) == expected
    assert home in [one.source for one in found]


def several(*names):
    return lambda folder: [zipped(folder / name) for name in names]


PART = "is a part of a download. Unpack all parts into one folder"


@pytest.mark.parametrize(
    "make, part",
    [
        (lambda folder: None, "does not exist"),
        (lambda folder: zipped(folder), "is a file: unpack it, and any other parts, into one"),
        (several("submissions-001.zip", "submissions-002.zip"), f"submissions-001.zip {PART}"),
        (several("HW 5-20260101T000000Z-1-001.zip", "HW 5-20260101T000000Z-1-002.zip"), PART),
        (several("hw-submissions-1/a.zip", "hw-submissions-2/b.zip", "grades.csv"), PART),
        (lambda folder: folder.mkdir(), "has no submissions: expected one zip or folder"),
        (lambda folder: zipped(folder / ".hidden.zip"), "has no submissions"),
        (code, "is a single submission"),
    ],
)
def test_no_folder_of_submissions(tmp_path, make, part):
    make(tmp_path / "class")
    with pytest.raises(UserError, match=part):
        find_submissions(tmp_path / "class")


def test_the_order_depends_on_names_alone(tmp_path):
    for name in "cab":
        zipped(tmp_path / f"{name}.zip")
    first = find_submissions(tmp_path)
    os.utime(tmp_path / "a.zip", (0, 0))
    assert find_submissions(tmp_path) == first and [one.person for one in first] == ["a", "b", "c"]


# Whose it is


def matched(people, *identities, person="x"):
    from instructor.grading.finding.find import Found

    return people.match(Found(None, "label", person, identities))


def test_canvas_gradebook(tmp_path):
    people = roster(tmp_path, CANVAS_ROSTER)
    assert [
        (person.id, person.name, person.section, person.canvas_id, person.sis_id)
        for person in people.people
    ] == [
        ("jmueller", "Müller, Jörg", "A, B", "1234", "u1"),
        ("alee", "Lee, Ann Marie", "A", "22", "u2"),
        ("alee2", "Lee, Ann Marie", "A", "23", "u3"),
    ]
    for name in ("mullerjorg", "Jörg Müller", "JÖRG MU\u0308LLER", "müller_jörg"):
        assert matched(people, ("name", name))[0].id == "jmueller", name
    assert matched(people, ("canvas_id", "23"), ("name", "leeannmarie")) == (people.people[2], "")
    stranger, remark = matched(
        people, ("canvas_id", "7"), ("name", "mullerjorg"), person="mullerjorg_7"
    )
    assert (stranger.id, stranger.name, stranger.canvas_id, stranger.enrolled) == (
        "mullerjorg_7",
        "mullerjorg",
        "7",
        False,
    )
    assert not remark


def test_two_people_of_one_name_are_not_guessed(tmp_path):
    stranger, remark = matched(
        roster(tmp_path, CANVAS_ROSTER), ("any", "Ann Marie Lee"), person="Ann Marie Lee"
    )
    assert not stranger.enrolled and stranger.id == "Ann Marie Lee"
    assert remark.startswith("Ann Marie Lee fits each of alee, alee2 in the roster.")


@pytest.mark.parametrize(
    "text, ids, name",
    [
        ("id,name,github\na1,Ann Lee,AnnL\nb2,Bob,bb\n", ["a1", "b2"], "Ann Lee"),
        ("sep=;\r\nid;name\r\na1;Ann Lee\r\nb2;Bob\r\n", ["a1", "b2"], "Ann Lee"),
        (
            "First Name,Last Name,SID,Email,Role,Sections\nAnn,Lee,12,ann@x.edu,Student,A\n"
            "T,A,1,ta@x.edu,TA,\n",
            ["ann@x.edu"],
            "Ann Lee",
        ),
        ("Name\tEmail\tSection\nAnn Lee\tann@x.edu\tA\n\t\t\n", ["ann@x.edu"], "Ann Lee"),
        (
            '"identifier","github_username","github_id","name"\n"ann@x","annl","5",""\n',
            ["ann@x"],
            "ann@x",
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rosters_of_other_systems(tmp_path, text, ids, name, encoding):
    people = roster(tmp_path, text, encoding).people
    assert [person.id for person in people] == ids and people[0].name == name


GRADEBOOK = """Student,ID,SIS User ID,SIS Login ID,Section,  HW 5:  Attention (98765) ,HW 5 (7),hw5 (8)
,,,,,Manual Posting,,
    Points Possible,,,,,146,9,9
"Lee, Ann",22,u2,alee,A, EX ,1,EX
"Ray, Bob",23,u3,bray,A,12,EX,1
"Day, Cleo",24,u4,cday,A
"""


@pytest.mark.parametrize(
    "title, column, excused",
    [
        ("hw 5: attention", "  HW 5:  Attention (98765) ", ["alee"]),
        ("HW 5: Attention (98765)", "  HW 5:  Attention (98765) ", ["alee"]),
        ("HW5 (7)", "HW 5 (7)", ["bray"]),
        ("HW 5", "", []),
        ("Attention", "", []),
        ("Section", "", []),
    ],
)
def test_canvas_tells_the_column_and_who_is_excused(tmp_path, title, column, excused):
    people = roster(tmp_path, GRADEBOOK, title=title)
    assert people.column == column and people.is_gradebook
    assert [one.id for one in people.people if one.excused] == excused
    assert len(people.people) == 3 and people.people[2].canvas_id == "24"


@pytest.mark.parametrize(
    "text, part",
    [
        ("", "nobody in it"),
        ("id,name\n", "nobody in it"),
        ("color,size\n1,2\n", "none of the columns that identify"),
        ("id,name\na,Ann\n,Bob\n", "line 3: Bob has no id"),
        ("id,name\na,Ann\nb,Bob\nA,Al\n", "line 4: 'A' is also in line 2"),
        ("Name,Email\nAnn,\n", "line 2: nothing identifies Ann"),
        ('id,name\na,"Ann\n', "this is not CSV"),
        ("id\na\0\n", "line 2: a NUL character"),
        ("name\nAnn\n", "none of the columns"),
    ],
)
def test_a_bad_roster_is_refused_with_its_line(tmp_path, text, part):
    with pytest.raises(UserError, match=part):
        roster(tmp_path, text)


def test_a_roster_in_another_encoding_or_place(tmp_path):
    with pytest.raises(UserError, match="line 2: this is not UTF-8"):
        roster(tmp_path, "id,name\na,Jörg\n", "latin-1")
    with pytest.raises(UserError, match="cannot be read"):
        read_roster(tmp_path / "none.csv")


@pytest.mark.parametrize(
    "value, expected",
    [
        ("A1", "a1"),
        ("ANNL", "a1"),
        ("ann@x.edu", "a1"),
        ("lee, ann", "a1"),
        ("44", "b2"),
        ("c3", None),
    ],
)
def test_a_plain_name_is_looked_up_in_every_column(tmp_path, value, expected):
    people = roster(
        tmp_path, "id,name,email,github,canvas_id\na1,Ann Lee,ann@x.edu,AnnL,\nb2,Bob,,,44\n"
    )
    person, remark = matched(people, ("any", value), person=value)
    assert (person.id, person.enrolled) == (expected or value, bool(expected)) and not remark


def test_a_stranger_takes_nobodys_id(tmp_path):
    people = roster(tmp_path, "id,name\nAnn,Bob\n")
    assert matched(people, ("canvas_id", "9"), person="ann")[0].id == "ann (not in the roster)"


def test_names_that_differ_in_marks_of_their_script_are_two(tmp_path):
    people = roster(tmp_path, "id,name\n1,นิด\n2,นัด\n")
    assert [matched(people, ("name", name))[0].id for name in ("นิด", "นัด")] == ["1", "2"]


def test_without_a_roster_everybody_is_welcome():
    person, remark = matched(Roster(), ("name", "Ann"), ("email", "a@x"), person="a@x")
    assert (person.id, person.name, person.email, person.enrolled, remark) == (
        "a@x",
        "Ann",
        "a@x",
        True,
        "",
    )


# When it was due


@pytest.mark.parametrize(
    "text, expected",
    [
        ("2026-12-01 23:59 +01:00", "2026-12-01T22:59:00"),
        ("2026-12-01T23:59Z", "2026-12-01T23:59:00"),
        ("2026-12-01 +00:00", "2026-12-01T23:59:59"),
        ("2026-12-01 23:59 America/Los_Angeles", "2026-12-02T07:59:00"),
        ("2026-07-01 9:05 Europe/Zurich", "2026-07-01T07:05:00"),
    ],
)
def test_due_dates(text, expected):
    assert parse_due(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be set on this system")
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2026-13-01 10:00",
        "2026-12-01 25:00",
        "2026-12-01 10:00 Nowhere/City",
        "2026-12-01 10:00 +99:00",
        "2026-12-01 10:00 ../../etc/passwd",
        "1.12.2026",
    ],
)
def test_what_is_no_due_date(text):
    with pytest.raises(UserError, match="Write it as '2026-12-01 23:59'"):
        parse_due(text)


def test_days_late():
    due = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
    late = {-60: 0, 0: 0, 15: 0, 16: 1, 24 * 60: 1, 24 * 60 + 1: 2, 71 * 60: 3}
    assert {
        minutes: days_late(due + timedelta(minutes=minutes), due, grace_minutes=15)
        for minutes in late
    } == late
    assert days_late(None, due, marked_late=True) == 1 and days_late(None, due) == 0
    assert days_late(due, due, marked_late=True) == 0, "the time counts where it is known"


def test_an_extension_moves_the_due_date():
    due = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
    late = {2: 0, 2.001: 0, 2.1: 1, 4: 2}  # by days after the due date; minutes are forgiven
    for days, count in late.items():
        submitted = due + timedelta(days=days)
        assert days_late(submitted, due, grace_minutes=15, extension=2) == count, days


@pytest.mark.parametrize(
    "due, submitted, days",
    [
        # Clocks in New York go back on 1 November 2026 at 06:00 UTC: the day has 25 hours.
        ("2026-10-31 20:00", "2026-11-02T00:30Z", 1),  # 19:30 there
        ("2026-10-31 20:00", "2026-11-02T01:00Z", 1),
        ("2026-10-31 20:00", "2026-11-02T01:01Z", 2),
        ("2026-10-30 20:00", "2026-11-02T00:30Z", 2),
        # They go forward on 14 March 2027 at 07:00 UTC: the day has 23 hours.
        ("2027-03-13 20:00", "2027-03-15T00:00Z", 1),
        ("2027-03-13 20:00", "2027-03-15T00:30Z", 2),  # 20:30 there
        # A time that comes twice is over when it was there the second time.
        ("2026-11-01 01:30", "2026-11-01T06:30Z", 0),
        ("2026-11-01 01:30", "2026-11-01T06:31Z", 1),
        ("2026-10-31 01:30", "2026-11-01T06:30Z", 1),
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


def test_how_late_is_what_an_export_only_calls_late():
    options = [
        {},
        {"unknown_days": 3},
        {"unknown_days": 0},
        {"unknown_days": 3, "extension": 1},
        {"extension": 2},
    ]
    assert [days_late(None, None, marked_late=True, **one) for one in options] == [1, 3, 0, 2, 0]
    assert days_late(None, None, marked_late=False, unknown_days=3) == 0


def test_penalty():
    assert [penalty(days, 0.1, free_days=2, cap=0.25) for days in range(6)] == [
        0,
        0,
        0,
        0.1,
        0.2,
        0.25,
    ]
    assert penalty(20, 0.1) == 1.0


def test_a_zip_beside_clones_is_a_submission_too(tmp_path):
    for login in ("ann", "bob"):
        code(tmp_path / f"hw-5-{login}" / "src" / "submission")
        (tmp_path / f"hw-5-{login}" / ".git").mkdir()
    zipped(tmp_path / "cy.zip"), (tmp_path / "clone.txt").touch()
    found = find_submissions(tmp_path)
    assert [one.person for one in found if not one.paper] == ["cy", "ann", "bob"]
    assert [bool(one.repository) for one in found if not one.paper] == [False, True, True]
