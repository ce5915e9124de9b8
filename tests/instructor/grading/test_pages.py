"""The pages: what they say and keep to themselves; numbers about a class, and who counts."""

import csv
import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from classes import CODED, MANIFEST, MISTAKES, fail, full_report, make_class

from browser import SIZES, opened, sideways, violations
from helpers import Page
from instructor.grading import statistics
from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.pages import class_page, gradebook, student_page, write_reports
from instructor.grading.text import points

HOSTILE = (
    '<img src=x onerror=alert(1)></pre></script><script>alert(2)</script>" onload="x\' {{ 7*7 }} '
    "&amp; `` ``` ````\n```\n[a](javascript:b) "
    "![c](http://evil.example/d) <http://evil.example> www.evil.example | # _e_ *f*\n~~~\n"
    "# heading\n\x00\x1b[31m\u202eright\ud800 $x$"
)
NUMBERS = {
    "place": "[1, 0:2, 0:3]",
    "expected": [["0.5", "-0.75", "0.125"], ["0.9", "-0.25", "0.3"]],
    "got": [["0.5", "-0.75", "9.5"], ["0.9", "nan", "0.3"]],
    "wrong": [[0, 0, 1], [0, 1, 0]],
}
UNGRADED = {"report": None, "written": {}, "comments": {}}


@pytest.fixture(scope="module")
def graded():
    return make_class()


@pytest.fixture(scope="module")
def out(graded, tmp_path_factory):
    """Their pages, and in the folder `kinds` one of every kind."""
    out = tmp_path_factory.mktemp("class")
    write_reports(graded, out)
    many = class_with("a `long` message " * 30, handout="handout.html", compared=NUMBERS)
    long = "vanilla.nopretrain.dev.predictions" * 2
    fail(many.entries[0].report, "1e-2-basic", "wrong answer", f"{long} doesn't exist yet.")
    refused = class_with(refused="It is an HTML page.", **UNGRADED)
    (out / "kinds").mkdir()
    for name, text in {
        "class": class_page.page(make_class(40)),
        "messages": rendered(many)[0],
        "refused": rendered(refused)[0],
        "empty": class_page.page(GradedClass(MANIFEST, "T", [])),
    }.items():
        (out / "kinds" / f"{name}.html").write_text(text, encoding="utf-8")
    return out


def class_with(text="plain", handout="", compared=None, **changes):
    """A class of one, for whom strangers write `text` everywhere, and of somebody absent."""
    report = full_report()
    report["notices"], report["checks"][0]["hints"] = [text], [text]
    for id in ("1c-0-basic", "1h-5-hidden"):
        fail(report, id, "wrong answer", text)
    fail(report, "1c-7-hidden", "grader error", text)
    for check in report["checks"]:
        check["compared"] = compared
    entry = Entry(Person("1", *[text] * 7), "folder", text, report=report, remarks=[text])
    entry = replace(entry, written={"1g-0-written": 1.5}, comments={"1g-0-written": text})
    people = [replace(entry, **changes), Entry(Person("2", "B", section="B"), "b")]
    twice = {"marked_twice": [(text, 1, 2)], "conflicts": [text]}
    return GradedClass(MANIFEST, "Assignment", people, handout=handout, **twice)


def rendered(graded):
    return student_page.page(graded, graded.entries[0]), class_page.page(graded)


def shown(page):
    return Page(page).words


def test_a_page_tells_points_penalty_messages_and_written_parts():
    graded = class_with("it is 3 and should be 4", days_late=2, penalty=0.2)
    full = sum(check["score"] for check in graded.entries[0].checks)
    parts = [check for check in MANIFEST.checks.values() if not check.coded]
    left = sum(check.points for check in parts if check.id != "1g-0-written")
    total, most = points(0.8 * full + 1.5), points(graded.regular_points)
    words = shown(rendered(graded)[0]).replace("−", "-")
    for part in (
        f"{total} of {most} points, and up to",
        f"{points(left)} written points are not marked yet",
        f"Total, so far {total} {most}",
        f"2 days late, 20% of the {points(full)} automatic points -{points(0.2 * full)}",
        "Comment: it is 3 and should be 4",
        MANIFEST.checks["1h-5-hidden"].title,
        "accuracy vanilla.pretrain.dev: ",
    ):
        assert part in words


def test_where_to_start_comes_first_and_what_passed_or_is_hidden_is_folded():
    graded = class_with(report=full_report(), handout="handout.html")
    assert "Start here" not in rendered(graded)[0]
    lost, report = ("5d-1-basic", "5d-4-hidden", "5e-0-basic"), graded.entries[0].report
    for id in lost:
        fail(report, id, "not implemented", "encoder.py:71  MultiHeadAttention.forward")
    page = rendered(graded)[0]
    start = page[page.index("Start here") : page.index("<h2>Points")]
    assert page.index('class="score"') < page.index("Start here") and start.count("<li>") == 1
    worth = points(sum(MANIFEST.checks[id].points for id in lost))
    for part in (f"{worth} points", "3 checks", "forward is not written yet: encoder.py, line 71"):
        assert part in shown(start)
    assert 'href="handout.html#q-5d"' in start
    for id in ("5e-0-basic", "5e-3-basic", "5e-9-basic"):
        fail(report, id, "exception", "encoder.py, line 7: KeyError: 'once'")
    checks = rendered(graded)[0].split("<h2>Checks")[1]
    unfolded = shown(re.sub(r"(?s)<details>.*?</details>", "", checks))
    assert all(id in unfolded for id in ("5d-1-basic", "5e-0-basic", "5e-3-basic", "5e-9-basic"))
    assert "1c-2-basic" not in unfolded and "-hidden" not in unfolded
    assert shown(checks).count("'once'") == 1  # a message of several checks


def test_wrong_numbers_are_outlined_beside_the_right_ones():
    page = rendered(class_with(compared=NUMBERS))[0]
    first = re.findall(r'(?s)<table class="numbers".*?</table>', page)[:2]
    marked = [re.findall("<mark>(.*?)</mark>", table) for table in first]
    assert marked == [["0.125", "−0.25"], ["9.5", "nan"]]
    assert re.search(r'"below" style="--shade: \d\d%"><mark>−0.25', first[0])
    assert "Expected [1, 0:2, 0:3]" in shown(page) and "Yours [1, 0:2, 0:3]" in shown(page)


def test_hidden_checks_and_remarks_for_the_staff_are_not_on_the_page():
    graded = class_with(for_staff=["git is missing"])
    for check in graded.entries[0].checks:
        if check["id"].endswith("-hidden"):
            secret = {name: [["SECRET"]] for name in ("expected", "got", "wrong")}
            facts = {"SECRET": 0.123, "accuracy vanilla.pretrain.dev": 0.987}
            check |= {"details": "SECRET", "hints": ["SECRET"], "seconds": 55.55, "facts": facts}
            check["compared"] = secret | {"place": "SECRET"}
    page, staff = rendered(graded)
    assert not re.search(r"SECRET|0\.123|98\.7|55\.5|git is missing", page)
    assert "SECRET" in staff and "git is missing" in gradebook.plain(graded)


@pytest.mark.parametrize("changes", [{}, UNGRADED])
def test_pages_obey_no_stranger_and_need_no_network(changes):
    plain, hostile = (rendered(class_with(it, **changes, refused=it)) for it in ("plain", HOSTILE))
    for text, benign in zip(hostile, plain):
        page, expected = Page(text), Page(benign)
        assert page.balanced and {*page.links} == {*expected.links}
        found = Counter((tag, *attrs) for tag, attrs in page.tags)
        assert found == Counter((tag, *attrs) for tag, attrs in expected.tags)
        assert not re.search("[\x00\x1b\u202e\ud800]", text) and "{{ 7*7 }}" in text
        assert not re.search(r"https?://|url\(|@import|src=", benign)
        assert "default-src 'none'" in benign
    assert "<script" not in plain[0]


SOME = CODED[1:5]
ABSENT, REFUSED = UNGRADED | {"source": ""}, UNGRADED | {"refused": "It is HTML."}
FOUR = f"4 checks ({', '.join(SOME[:3])} and 1 more)"
STATES = {  # state on the page of the class | cell for Canvas | remark | words on the person's page
    "refused | 0 | refused: It is HTML. | It is HTML. Please make": REFUSED,
    "nothing | 0 | nothing was handed in | If you did hand in, tell the staff": ABSENT,
    "not graded yet | | not graded yet | We have your submission": UNGRADED | {"pending": CODED},
    f"not graded yet | | not graded yet: {FOUR} | 4 checks have still": {"pending": SOME},
    "excused | EX | excused: ill | Excused": ABSENT | {"excused": "ill"},
    "excused | EX | excused: ill | Excused ": {"pending": SOME, "excused": "ill"},
    "grader error | | no grade: the grader failed: 1 check (1c-7-hidden) | which is not your": {},
}


@pytest.mark.parametrize("state", STATES)
def test_pages_and_gradebooks_say_what_the_state_of_a_submission_means(state):
    changes = STATES[state]
    of_class, cell, remark, words = (text.strip() for text in state.split("|"))
    graded = class_with(**changes)
    page, staff = rendered(graded)
    assert words in shown(page)
    assert ("Total" in shown(page)) == ("report" not in changes and "excused" not in changes)
    assert re.search(rf">{of_class}<.*?<strong>[–\d.]+</strong>", staff)
    canvas = list(csv.reader(gradebook.canvas(graded)[0].splitlines()))
    plain = gradebook.plain(graded).removeprefix("\ufeff").splitlines()
    row = next(csv.DictReader(plain))
    assert (canvas[2][5], row["automatic"], row["total"]) == (cell, "", cell.strip("EX"))
    assert row["remarks"].split("; ")[0] == remark
    for id in changes.get("pending", ()):
        assert row[MANIFEST.checks[id].question] == ""


def test_the_class_page_counts(graded, out):
    text = (out / "class.html").read_text(encoding="utf-8")
    number = sum(entry.report is not None for entry in graded.entries)
    for count, what in ((200, "people"), (number, "graded"), (1, "grader errors")):
        assert f"<b>{count}</b>{what}" in text
    counted = [check for entry in statistics.counted(graded.entries) for check in entry.checks]
    lost = Counter(check["id"] for check in counted if check["verdict"] != "passed")
    failed = lost["1c-4-hidden"]
    assert f"{failed} wrong answer" in text and "Cannot allocate memory" in text
    # common mistakes, whatever their numbers
    text_of_1c = MISTAKES[0][3].format(k="#", n="#")
    assert f"{failed} × {text_of_1c}" in text
    assert "helper.py, line #" in text
    order = re.findall(r'<th scope="row" class="nowrap">(\w+-\d+) <span class="tag">(\w+)', text)
    counts = [lost["-".join(name)] for name in order]
    assert len(order) > 100 and counts == sorted(counts, reverse=True)
    assert text.count('href="students/') >= 200
    assert "1g-0-written: marked twice for 2" in shown(text)
    entry = graded.entries[12]
    kept = json.loads((out / "students" / entry.folder / "grading.json").read_bytes())
    assert (kept["report"], kept["total"]) == (entry.report, entry.total)


def test_the_table_sorts_and_filters(browser, graded, out):
    """As a person types and clicks; the page's policy lets its own script run."""
    with opened(browser, out / "class.html") as tab:
        people = tab.locator("#people")

        def column(name):
            titles = [title.strip() for title in people.locator("thead th").all_inner_texts()]
            rows = people.locator("tbody tr:visible")
            cells = f"[...row.cells][{titles.index(name)}].textContent"
            return rows.evaluate_all(f"rows => rows.map(row => {cells})")

        entries = [entry for entry in graded.entries if entry.report or entry.written]
        totals = sorted(entry.total for entry in entries if not entry.pending)
        for expected in (totals[::-1], totals):
            people.get_by_role("button", name="Total").click()
            cells = column("Total")
            found = [float(cell) for cell in cells[: len(totals)]]
            assert found == pytest.approx(expected, abs=0.005)  # two decimals are shown
            assert {*cells[len(totals) :]} == {"–"}  # without a grade: last, either way
        people.get_by_role("button", name="Name").click()
        assert column("Name")[0].startswith("A. Guest") and len(column("Name")) == 200
        # parts of a name count in any order and case
        tab.locator("#filter").fill("garc JÜRGEN")
        assert {*column("Name")} == {"Jürgen García"}
        tab.locator("#filter").fill("s100207@")
        assert column("Name") == [graded.entries[7].person.name]
        tab.locator("#filter").fill("")
        tab.locator("#section").select_option("Section 2")
        assert {*column("Section")} == {"Section 2"}
        assert tab.locator("#shown").inner_text() == "50 of 200 shown"


FULL = sum(MANIFEST.checks[id].points for id in CODED)


def person(number, lost=(), section=""):
    report, name = full_report(), f"p{number}"
    for id in lost:
        fail(report, id, "wrong answer", "No.")
    return Entry(Person(name, name, section=section), name, report=report)


def a_class(entries):
    return GradedClass(MANIFEST, "T", entries)


def test_a_check_that_the_better_half_fails_is_suspicious():
    good, odd, dead, *others = CODED[:9]
    # The weak half fails `good` and much else, the strong half `odd`, and all fail `dead`.
    entries = [person(i, {dead, odd}) for i in range(6)]
    entries += [person(i, {dead, good, *others[: i - 5]}) for i in range(6, 12)]
    found = {item.check.id: item for item in statistics.items(a_class(entries))}
    assert found[good].discrimination > 0.5 and found[odd].discrimination < -0.5
    assert [id for id, item in found.items() if item.suspicious] == [odd]
    assert found[dead].discrimination is found[CODED[-1]].discrimination is None
    few = statistics.items(a_class(entries[: statistics.FEWEST - 1]))
    assert {item.discrimination for item in few} == {None}


def test_only_final_grades_of_people_in_the_roster_count(graded, out):
    failed, ill, waiting, untouched, stranger = graded.entries[20:25]
    excused = replace(person(5), excused="EX in the Canvas gradebook.")
    names = {entry.person.id for entry in statistics.counted([*graded.entries, excused])}
    assert not names & {e.person.id for e in (failed, ill, waiting, untouched, stranger, excused)}
    assert len(names) == sum(entry.report is not None for entry in graded.entries) - 4
    page = (out / "class.html").read_text(encoding="utf-8")
    assert "2 people have checks" in shown(page)
    for entries in ([], [Entry(Person("1", "A"), "a")]):
        assert "Nothing is graded" in shown(class_page.page(a_class(entries)))


def test_sections_side_by_side():
    entries = [person(0, section="A"), person(1, CODED[:1], "A"), person(2, CODED[:2], "B")]
    nobody = Entry(Person("n", "N", section="B"), "n")
    lost = [MANIFEST.checks[id].points for id in CODED[:2]]
    rows = [row[:4] for row in statistics.sections(a_class([*entries, nobody]))]
    mean, low = FULL - lost[0] / 2, FULL - sum(lost)
    whole = pytest.approx((2 * mean + low) / 3)
    assert rows == [("all", 4, 3, whole), ("A", 2, 2, mean), ("B", 2, 1, low)]
    assert len(statistics.sections(a_class(entries[:2]))) == 1


CUT = """[...document.querySelectorAll("caption, h2, p, summary")].filter(one => {
  const box = one.getBoundingClientRect();
  const outside = box.left < 0 || box.right > innerWidth;
  return box.width && (outside || one.scrollWidth > one.clientWidth + 1);
}).map(one => one.textContent)"""


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["class", "messages", "refused", "empty"])
def test_everybody_can_read_the_pages(browser, out, name, size, scheme):
    with opened(browser, out / "kinds" / f"{name}.html", size, scheme) as tab:
        tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert violations(tab) == [] and sideways(tab) == 0 and tab.evaluate(CUT) == []


# The first cell and the last one of a row, when its table is scrolled to the end.
ENDS = """(() => {
  const row = document.querySelector("#people tbody tr"), box = row.closest(".scroll");
  box.scrollLeft = box.scrollWidth;
  return [row.firstElementChild, row.lastElementChild].map(one => {
    const {left, right} = one.getBoundingClientRect();
    return [left, right];
  }).flat();
})()"""
CLIPPED = """[...document.querySelectorAll("#people :is(th, td)")].filter(one => {
  const box = one.closest(".scroll").getBoundingClientRect(), mine = one.getBoundingClientRect();
  return mine.left < 0 || mine.right > innerWidth + 1 || mine.bottom > box.bottom + 1;
}).length"""


def test_the_table_of_people_is_readable_on_a_phone_and_on_paper(browser, out):
    """On a phone it alone scrolls, and names stay; on landscape A4 nothing of it is cut off."""
    with opened(browser, out / "class.html", viewport={"width": 360, "height": 740}) as tab:
        left, middle, _, right = tab.evaluate(ENDS)
        assert sideways(tab) == 0 and 0 <= left < middle < 0.7 * 360 and right <= 360
        tab.set_viewport_size({"width": round((297 - 2 * 14) / 25.4 * 96), "height": 700})
        tab.emulate_media(media="print")
        assert sideways(tab) == 0 and tab.evaluate(CLIPPED) == 0
