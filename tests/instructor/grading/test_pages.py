"""The pages: what they say, what they keep to themselves, and that nothing in them obeys a
stranger. Numbers about a class: its checks, its sections, its markers; and who counts in them.
"""

import json
import random
import re
from collections import Counter
from dataclasses import replace

import pytest
from classes import CODED, MANIFEST, fail, full_report, make_class

from browser import SIZES, opened, sideways, violations
from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.pages import class_page, gradebook, statistics, student_page, write_reports
from instructor.grading.text import points
from page import Page

HOSTILE = (
    '<img src=x onerror=alert(1)></pre></script><script>alert(2)</script>" onload="x\' {{ 7*7 }} '
    "&amp; `` ``` ````\n```\n[a](javascript:b) "
    "![c](http://evil.example/d) <http://evil.example> www.evil.example | # _e_ *f*\n~~~\n"
    "# heading\n\x00\x1b[31m\u202eright\ud800 $x$"
)


@pytest.fixture(scope="module")
def graded():
    """200 people."""
    return make_class()


@pytest.fixture(scope="module")
def out(graded, tmp_path_factory):
    """Their pages."""
    out = tmp_path_factory.mktemp("class")
    write_reports(graded, out)
    return out


def one(text="plain", **changes):
    """A class of one, and of somebody absent, in which everything that strangers write is `text`;
    changes: of the entry.
    """
    report = full_report(random.Random(1))
    report["notices"], report["checks"][0]["hints"] = [text], [text]
    for id in ("1c-0-basic", "1h-5-hidden"):
        fail(report, id, "wrong answer", text)
    fail(report, "1c-7-hidden", "grader error", text)
    person = Person("1", text, text, text, text, text, text, text)
    entry = Entry(person, "folder", text, report=report, remarks=[text])
    entry = replace(entry, written={"1g-0-written": 1.5}, comments={"1g-0-written": text})
    absent = Entry(Person("2", "B", section="B"), "b")
    entries = [replace(entry, **changes), absent]
    return GradedClass(
        MANIFEST, "Assignment", entries, marked_twice=[(text, 1, 2)], conflicts=[text]
    )


def checks_of(graded):
    """The checks of the first report, by id."""
    return {check["id"]: check for check in graded.entries[0].checks}


def rendered(graded):
    """The student's page, and the class page."""
    return student_page.page(graded, graded.entries[0]), class_page.page(graded)


def names(page):
    """How often a page has each tag with attributes of these names."""
    return Counter((tag, tuple(attrs)) for tag, attrs in page.tags)


def shown(page):
    """The words of a page, or of a part of one."""
    return Page(page).words


# Of a student


def test_a_page_tells_points_penalty_messages_and_written_parts():
    graded = one("it is 3 and should be 4", days_late=2, penalty=0.2)
    checks = checks_of(graded)
    checks["1c-7-hidden"] |= {"verdict": "passed", "message": "", "details": ""}
    checks["1c-7-hidden"]["score"] = checks["1c-7-hidden"]["max_score"]
    given = MANIFEST.checks["1g-0-written"].points
    left = sum(check.points for check in MANIFEST.checks.values() if not check.coded) - given
    full = sum(check["score"] for check in checks.values())
    words = shown(rendered(graded)[0]).replace("−", "-")
    earned, before, cost = map(points, (0.8 * full, full, 0.2 * full))
    for part in (
        f"{earned} of {points(graded.automatic_points)} automatic points and 1.5 of "
        f"{points(given)} written points; {points(left)} written points are not marked yet",
        f"Total {points(0.8 * full + 1.5)} {points(graded.regular_points)}",
        f"2 days late, 20% of the {before} automatic points -{cost}",
        "Comment: it is 3 and should be 4",
        MANIFEST.checks["1h-5-hidden"].title,
    ):
        assert part in words
    assert "no grade" not in words


@pytest.mark.parametrize("handout", ["", "https://course.example/a5/handout.html"])
def test_the_score_and_where_to_start_come_first(handout):
    graded = one(report=full_report(random.Random()))
    graded.handout = handout
    assert "Start here" not in rendered(graded)[0]
    lost = "5d-1-basic", "5d-4-hidden", "5e-0-basic"
    for id in lost:
        said = "encoder.py:71  MultiHeadAttention.forward"
        fail(graded.entries[0].report, id, "not implemented", said)
    page, _ = rendered(graded)
    start = page[page.index("Start here") : page.index("<h2>Points")]
    assert page.index('class="score"') < page.index("Start here") and start.count("<li>") == 1
    worth = points(sum(MANIFEST.checks[id].points for id in lost))
    for part in (f"{worth} points", "3 checks", "forward is not written yet: encoder.py, line 71"):
        assert part in shown(start)
    assert (f'href="{handout}#q-5d"' in start) == bool(handout)


def test_what_passed_and_what_is_hidden_is_folded_and_a_message_stands_once():
    graded = one("it is 3")
    ids = "5e-0-basic", "5e-3-basic", "5e-9-basic"
    for id in ids:
        fail(graded.entries[0].report, id, "exception", "encoder.py, line 7: KeyError: 'once'")
    page, _ = rendered(graded)
    unfolded = shown(re.sub(r"(?s)<details>.*?</details>", "", page))
    assert all(text in unfolded for text in ("1c-0-basic", "it is 3", *ids))
    assert "1c-2-basic" not in unfolded and "-hidden" not in unfolded
    assert shown(page.split("<h2>Checks")[1]).count("'once'") == 1
    assert all(check.id in page for check in MANIFEST.checks.values() if check.coded)


def test_wrong_numbers_are_outlined_beside_the_right_ones():
    graded = one()
    right = [["0.5", "-0.75", "0.125"], ["0.9", "-0.25", "0.3"]]
    got, wrong = [["0.5", "-0.75", "9.5"], ["0.9", "nan", "0.3"]], [[0, 0, 1], [0, 1, 0]]
    kept = {"place": "[1, 0:2, 0:3]", "expected": right, "got": got, "wrong": wrong}
    for id in ("1c-0-basic", "1h-5-hidden"):
        checks_of(graded)[id]["compared"] = kept
    page = rendered(graded)[0]
    tables = re.findall(r'(?s)<table class="numbers".*?</table>', page)
    assert len(tables) == 2, "nothing is shown of a hidden check"
    marked = [re.findall("<mark>(.*?)</mark>", table) for table in tables]
    assert marked == [["0.125", "−0.250"], ["9.500", "nan"]]
    assert re.search(r'"below" style="--shade: \d\d%"><mark>−0.250', tables[0])
    assert "Expected [1, 0:2, 0:3]" in shown(page) and "Yours [1, 0:2, 0:3]" in shown(page)


def test_hidden_checks_keep_their_secrets():
    graded = one()
    for check in graded.entries[0].checks:
        if check["id"].endswith("-hidden"):
            compared = {"place": "SECRET", "expected": [["1"]], "got": [["2"]], "wrong": [[1]]}
            facts = {"SECRET": 0.123, "accuracy vanilla.pretrain.dev": 0.987}
            check |= {"details": "SECRET", "hints": ["SECRET"], "seconds": 55.55, "facts": facts}
            check["compared"] = compared
    page, staff = rendered(graded)
    assert not re.search(r"SECRET|0\.123|98\.7|55\.5", page) and "SECRET" in staff


REFUSED = {"report": None, "written": {}, "comments": {}}


@pytest.mark.parametrize("changes", [{}, REFUSED])
def test_pages_obey_no_stranger_and_need_no_network(changes):
    """Nothing but what the templates hold."""
    plain, hostile = (rendered(one(text, **changes, refused=text)) for text in ("plain", HOSTILE))
    for text, benign in zip(hostile, plain):
        there, expected = Page(text), Page(benign)
        assert names(there) == names(expected) and there.balanced
        assert {*there.links} == {*expected.links}
        assert not re.search("[\x00\x1b\u202e\ud800]", text) and "{{ 7*7 }}" in text
        assert not re.search(r"https?://|url\(|@import|src=", benign)
        assert "default-src 'none'" in benign
    assert "<script" not in plain[0]


@pytest.mark.parametrize(
    ("changes", "words", "absent"),
    [
        ({"report": None, "refused": "It is an HTML page."}, ["HTML page", "collect_sub"], " of "),
        ({"report": None, "source": ""}, ["Nothing was handed in", "tell the staff"], " of "),
        ({"excused": "ill"}, ["Excused", "Points"], "Total"),
        ({}, ["This is not a grade yet", "not your fault"], "Excused"),
        ({"for_staff": ["git is missing"]}, ["Points"], "git is missing"),
    ],
    ids=["refused", "missing", "excused", "grader error", "for the staff"],
)
def test_a_page_says_what_its_state_means(changes, words, absent):
    graded = one(**(REFUSED if "report" in changes else {}) | changes)
    page = shown(rendered(graded)[0])
    assert all(word in page for word in words) and absent not in page
    assert changes.get("for_staff", [""])[0] in gradebook.plain(graded)


def test_the_plot_shows_what_the_weights_reproduced():
    graded = one()
    dev, learned, rope = "vanilla.nopretrain.dev", "vanilla.pretrain.dev", "rope.pretrain.dev"
    facts = {
        "1e-2-basic": {f"accuracy {dev}": 0.0},
        "1f-6-basic": {f"accuracy {learned}": 0.495, f"needed {learned}": 0.2},
        "1h-8-basic": {},
    }
    for id, values in facts.items():
        checks_of(graded)[id]["facts"] = values
    shares = "without pretraining 0% learned positions 49.5%, needed 20% RoPE no result"
    assert shares in shown(rendered(graded)[0])
    del facts["1f-6-basic"][f"accuracy {learned}"]
    facts["1f-6-basic"] |= {f"claimed {learned}": 0.913}
    facts["1h-8-basic"] |= {f"claimed {rope}": 0.07, f"needed {rope}": 0.2}
    page, staff = rendered(graded)
    assert "learned positions not reproduced, needed 20%" in shown(page)
    assert "RoPE not enough: 7% by your predictions, needed 20%" in shown(page)
    assert "91.3" not in page + staff
    bars = re.search(r'(?s)<table class="bars">.*?</table>', page)[0]
    assert bars.count('<b style="width: 0.0%">') == bars.count("<b") == 1  # without pretraining
    assert bars.count('<i style="left: 20.0%">') == 2


def test_grading_json_has_the_whole_report(graded, out):
    entry = graded.entries[12]
    path = out / "students" / entry.folder / "grading.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["report"], content["total"]) == (entry.report, entry.total)
    assert content["person"]["id"] == entry.person.id


# Of a class


def test_the_class_page_counts(graded, out):
    text = (out / "class.html").read_text(encoding="utf-8")
    number = sum(entry.report is not None for entry in graded.entries)
    for count, what in ((200, "people"), (number, "graded"), (1, "grader error")):
        assert f"<b>{count}</b>{what}" in text
    checks = [check for entry in graded.entries for check in entry.checks]
    lost = Counter(check["id"] for check in checks if check["verdict"] != "passed")
    failed = lost["1c-4-hidden"]
    assert f"{failed} wrong answer" in text and "Cannot allocate memory" in text
    assert f"{failed} × A truncated length of # never came in # examples." in text
    order = re.findall(r'<th scope="row" class="nowrap">(\w+-\d+) <span class="tag">(\w+)', text)
    counts = [lost["-".join(name)] for name in order]
    assert len(order) > 100 and counts == sorted(counts, reverse=True)
    seconds = max(sum(check["seconds"] for check in entry.checks) for entry in graded.entries)
    assert f"{seconds:.1f}</td>" in text and text.count('href="students/') >= 200


def test_the_table_sorts_and_filters(browser, graded, out):
    """As a person types and clicks; the page's policy lets its own script run."""
    with opened(browser, out / "class.html") as tab:
        people = tab.locator("#people")

        def column(name):
            titles = [title.strip() for title in people.locator("thead th").all_inner_texts()]
            rows = people.locator("tbody tr:visible")
            cells = f"[...row.cells][{titles.index(name)}].textContent"
            return rows.evaluate_all(f"rows => rows.map(row => {cells})")

        def search(words="", section=""):
            tab.locator("#filter").fill(words)
            tab.locator("#section").select_option(section)

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
        assert tab.locator("[aria-sort]").count() == 1
        # parts of a name count in any order and case
        given, family = graded.entries[100].person.name.split()
        search(f"{family[:3].lower()} {given.upper()}")
        assert 0 < len(found := column("Name")) < 100
        assert all(given in name and family[:3].lower() in name.lower() for name in found)
        search("s100207@")
        assert column("Name") == [graded.entries[7].person.name]
        search(section="Section 2")
        assert {*column("Section")} == {"Section 2"}
        assert tab.locator("#shown").inner_text() == "50 of 200 shown"


def test_epochs_beyond_all_measure_do_not_spoil_the_plot():
    graded = make_class(20)
    graded.entries.insert(0, graded.entries.pop(3))
    checks_of(graded)["1f-0-basic"]["facts"]["max_epochs"] = 1e300
    text = class_page.page(graded)
    places = re.findall(r'(?s)<title>[^<]*epochs</title>.*?<use [^>]*x="([^"]+)"', text)
    assert len(places) > 20 and all(0 < float(x) < 360 for x in places)


# Numbers about a class

POINTS = {id: MANIFEST.checks[id].points for id in CODED}
FULL = sum(POINTS.values())


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


def class_words(graded):
    return shown(class_page.page(graded))


def test_difficulty_and_discrimination_of_checks():
    good, odd, dead, *others = CODED[:9]
    # The weak half fails `good` and much else, the strong half `odd`, and all fail `dead`.
    entries = [
        person(i, {dead, odd} if i < 6 else {dead, good, *others[: i - 5]}) for i in range(12)
    ]
    found = statistics.items(a_class(*entries))
    assert found[good][0] == found[odd][0] == 0.5
    assert found[good][1] > 0.5 and found[odd][1] < -0.5
    assert [found[id][2] for id in (good, odd)] == [False, True]
    assert found[dead] == (0, None, False) and found[CODED[-1]] == (1, None, False)
    few = statistics.items(a_class(*entries[: statistics.FEWEST - 1]))
    assert {discrimination for _, discrimination, _ in few.values()} == {None}
    fail(entries[0].report, CODED[-1], "wrong answer", "Nearly.", 0.5)
    assert statistics.items(a_class(entries[0]))[CODED[-1]] == (0.5, None, False)


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
    text, page = class_words(graded), class_page.page(graded)
    assert {difficulty for difficulty, *_ in statistics.items(graded).values()} == {1}
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
    assert "not graded yet" not in class_words(a_class(*unusual()[:3]))
    for entries in ([], [Entry(Person("1", "A"), "a")]):
        assert "Nothing is graded yet." in class_words(a_class(*entries))


def test_sections_side_by_side():
    handed_in = person(0, section="A"), person(1, CODED[:1], "A"), person(2, CODED[:2], "B")
    nobody = Entry(Person("n", "N", section="B"), "n")
    graded = a_class(*handed_in, nobody, *unusual()[1:4])
    one, other = statistics.sections(graded)[1:]
    mean, median = FULL - POINTS[CODED[0]] / 2, FULL - sum(POINTS[id] for id in CODED[:2])
    assert one[:4] == ("A", 2, 2, mean) and other[:3] + other[4:5] == ("B", 2, 1, median)
    assert sum(filter(None, one[5:])) == pytest.approx(mean) and one[6] is None  # of problem 3
    text = class_words(graded)
    assert "Section People Graded Mean Median Problem 1" in text
    assert f"A 2 2 {mean:g} {one[4]:g}" in text
    assert "Problem 1" not in class_words(a_class(*handed_in[:2]))


def test_agreement_of_two_markers():
    pairs = [("3b-0-written", 1, 2), ("1g-0-written", 1, 1), ("3b-0-written", 2, 2)]
    pairs += [("3b-0-written", 2, 0.5), ("3b-0-written", 1, 1)]
    graded = a_class(person(0), marked_twice=pairs, conflicts=["3b of P 0: 1 by Kim, 2 by Lee."])
    text = class_words(graded)
    assert "1g-0-written 1 100% 0 0" in text and "3b-0-written 4 50% 0.62 1.5" in text
    assert graded.conflicts[0] in text
    assert "Two markers" not in class_words(replace(graded, marked_twice=[], conflicts=[]))


# In a browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of every kind: the class, somebody with messages, somebody refused, nobody."""
    folder = tmp_path_factory.mktemp("pages")
    numbers = [["1.25", "-0.5"], ["nan", "1e+09"]]
    kept = {"place": "[0:2, 0:2]", "expected": numbers, "got": numbers, "wrong": [[1, 0], [0, 1]]}
    many = one("a `long` message " * 30)
    many.handout = "handout.html"
    for check in many.entries[0].checks:
        check["compared"] = kept
    refused = one(report=None, refused="It is an HTML page.", written={}, comments={})
    made = {"class": class_page.page(make_class(40))}
    made |= {"messages": rendered(many)[0], "refused": rendered(refused)[0]}
    made["empty"] = class_page.page(GradedClass(MANIFEST, "T", []))
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["class", "messages", "refused", "empty"])
def test_everybody_can_read_the_pages(browser, pages, name, scheme):
    for size in SIZES:
        with opened(browser, pages / f"{name}.html", size, scheme) as tab:
            tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert violations(tab) == []
            assert sideways(tab) == 0


CUT = """[...document.querySelectorAll("caption, h2, p, summary")].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width && (box.left < 0 || box.right > innerWidth || one.scrollWidth > one.clientWidth + 1);
}).map(one => one.textContent)"""
REGION = "document.querySelector('.tall')"


@pytest.mark.full
def test_on_a_phone_names_wrap_and_stay_in_sight(browser, pages, tmp_path):
    graded = one()
    long = "vanilla.nopretrain.dev.predictions" * 2
    fail(graded.entries[0].report, "1e-2-basic", "wrong answer", f"{long} doesn't exist yet.")
    write_reports(graded, tmp_path)
    with opened(browser, tmp_path / "students/folder/feedback.html", "narrow") as tab:
        assert long in tab.locator(".start").inner_text() and sideways(tab) == 0
    for name in ("class", "messages"):
        with opened(browser, pages / f"{name}.html", "narrow") as tab:
            assert tab.locator("caption").count() and tab.evaluate(CUT) == []
    with opened(browser, pages / "class.html", "narrow") as tab:
        people = tab.locator("#people")
        name, last = people.locator("tbody th").nth(3), people.locator("tbody tr").nth(3)
        tab.evaluate(f"{REGION}.scrollTo(5000, 300)")
        box, cell = name.bounding_box(), last.locator("td").last.bounding_box()
        assert 0 <= box["x"] < 40 and cell["x"] + cell["width"] <= 390


@pytest.mark.full
def test_nothing_is_cut_off_on_a_screen_or_in_print(browser, pages):
    with opened(browser, pages / "class.html") as tab:
        assert tab.evaluate(f"{REGION}.scrollWidth - {REGION}.clientWidth") == 0
        tab.emulate_media(media="print")
        tab.set_viewport_size({"width": 1000, "height": 700})  # A4 across, less its margins
        assert sideways(tab) == 0
        for side in ("Width", "Height"):
            assert tab.evaluate(f"{REGION}.scroll{side} - {REGION}.client{side}") == 0
