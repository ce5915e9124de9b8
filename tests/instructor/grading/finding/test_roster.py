"""Whose a submission is, by rosters and gradebooks."""

import pytest
from downloads import roster

from instructor.grading.finding.find import Found
from instructor.grading.finding.roster import Roster


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
