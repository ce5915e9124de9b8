"""Numbers about a class: its checks, its sections, its markers; and who counts in them."""

import html
import random
import re
from dataclasses import replace

import pytest

from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.pages import class_page, statistics
from tests.instructor.grading.sample_class import CODED, MANIFEST, fail, full_report

POINTS = {id: MANIFEST.checks[id].points for id in CODED}
FULL = sum(POINTS.values())
HOSTILE = '"><script>alert(1)</script>\n\u202e'


def person(number, lost=(), section="", **changes):
    """Somebody who failed the checks `lost`."""
    report = full_report(random.Random(number))
    for id in lost:
        fail(report, id, "wrong answer", "No.")
    return Entry(
        Person(f"p{number}", f"P {number}", section=section), f"p{number}", report=report, **changes
    )


def a_class(*entries, **changes):
    return GradedClass(MANIFEST, "T", list(entries), **changes)


def shown(graded):
    """The words of the page."""
    page = re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>", " ", class_page.page(graded))
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())


def test_difficulty_and_discrimination_of_checks():
    good, odd, dead = CODED[:3]
    others = CODED[3:9]
    # The weak half fails `good` and much else, the strong half `odd`, and all fail `dead`.
    entries = [
        person(i, {dead, odd} if i < 6 else {dead, good, *others[: i - 5]}) for i in range(12)
    ]
    found = statistics.items(a_class(*entries))
    assert found[good].difficulty == found[odd].difficulty == 0.5
    assert found[good].discrimination > 0.5 and not found[good].suspicious
    assert found[odd].discrimination < -0.5 and found[odd].suspicious
    assert found[dead] == statistics.Item(0, None) and found[CODED[-1]] == statistics.Item(1, None)
    few = statistics.items(a_class(*entries[: statistics.FEWEST - 1]))
    assert all(item.discrimination is None for item in few.values())
    fail(entries[0].report, CODED[-1], "wrong answer", "Nearly.", 0.5)
    assert statistics.items(a_class(entries[0]))[CODED[-1]] == statistics.Item(0.5, None)


def test_a_check_is_compared_with_the_others_alone():
    """Drawn at random: the check's own points would pull a correlation with the total up."""
    rng = random.Random(5)
    big, small = sorted(CODED, key=POINTS.get)[-2:]
    rows = [[id for id in (big, small) if rng.random() < 0.5] for _ in range(400)]
    items = statistics.items(a_class(*(person(i, lost) for i, lost in enumerate(rows))))
    assert abs(items[big].discrimination) < 0.15


def unusual():
    """One who counts and has everything; and of everybody who does not count one with less."""
    lost = CODED[1:20]
    failed = person(6, lost)
    fail(failed.report, CODED[0], "grader error", "Cannot allocate memory")
    return [
        person(0),
        replace(person(1, lost), person=Person("s", "S", enrolled=False)),
        person(2, lost, excused="Ill."),
        person(3, lost, pending=[CODED[0]]),
        Entry(Person("p4", "P 4"), "p4", pending=CODED),
        replace(person(5, lost), person=Person("e", "E", excused=True)),
        failed,
    ]


def test_only_final_grades_of_people_in_the_roster_count():
    """Who is not graded yet has no total, and the page warns."""
    graded = a_class(*unusual())
    text, page = shown(graded), class_page.page(graded)
    assert {item.difficulty for item in statistics.items(graded).values()} == {1}
    for part in (
        "1 final grade of people who are in the roster and not excused. ",
        f"Mean {FULL:g}, median {FULL:g}",
        "2 people have checks that are not graded yet. They have no total until then: run grade",
        "0 handed in nothing 0 refused",
        "2 excused",
    ):
        assert part in text
    table = page.split('id="people"')[1].split("</table>")[0]
    rows = dict(re.findall(r"(?s)<bdi>([^<]*)</bdi></a>(.*?)</tr>", table))
    for name in ("P 3", "P 4"):
        assert 'warn">not graded yet<' in rows[name] and "<strong>–</strong>" in rows[name]
    for name in ("P 2", "E"):
        assert ">excused<" in rows[name]
    assert "not graded yet" not in shown(a_class(*unusual()[:3]))


def test_sections_side_by_side():
    handed_in = person(0, section="A"), person(1, CODED[:1], "A"), person(2, CODED[:2], "B")
    nobody = Entry(Person("n", "N", section="B"), "n")
    graded = a_class(*handed_in, nobody, *unusual()[1:4])
    one, other = statistics.sections(graded)[1:]
    assert (one.name, one.people, one.counted, one.mean) == ("A", 2, 2, FULL - POINTS[CODED[0]] / 2)
    median = FULL - sum(POINTS[id] for id in CODED[:2])
    assert (other.name, other.people, other.counted, other.median) == ("B", 2, 1, median)
    assert sum(filter(None, one.problems.values())) == pytest.approx(one.mean)
    assert one.problems["3"] is None
    text = shown(graded)
    assert "Section People Graded Mean Median Problem 1" in text
    assert f"A 2 2 {one.mean:g} {one.median:g}" in text
    assert "Problem 1" not in shown(a_class(*handed_in[:2]))


def test_agreement_of_two_markers():
    pairs = [("3b-0-written", 1, 2), ("1g-0-written", 1, 1), ("3b-0-written", 2, 2)]
    pairs += [("3b-0-written", 2, 0.5), ("3b-0-written", 1, 1)]
    graded = a_class(person(0), marked_twice=pairs, conflicts=["3b of P 0: 1 by Kim, 2 by Lee."])
    text = shown(graded)
    assert "1g-0-written 1 100% 0 0" in text and "3b-0-written 4 50% 0.62 1.5" in text
    assert graded.conflicts[0] in text
    assert "Two markers" not in shown(replace(graded, marked_twice=[], conflicts=[]))


def test_names_of_sections_and_conflicts_obey_no_stranger():
    entries = person(0, section=HOSTILE), person(1, section="B")
    graded = a_class(*entries, marked_twice=[(HOSTILE, 1, 2)], conflicts=[HOSTILE])
    page = class_page.page(graded)
    assert "<script>alert" not in page and "\u202e" not in page
