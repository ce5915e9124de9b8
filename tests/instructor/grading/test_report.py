"""The pages: what they say, what they keep to themselves, and that nothing in them obeys a
stranger.
"""

import html
import json
import random
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from browser import SIZES, opened, sideways, violations
from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.pages import class_page, gradebook, student_page, write_reports
from instructor.grading.text import points
from tests.instructor.grading.sample_class import MANIFEST, fail, full_report, make_class

HOSTILE = (
    '<img src=x onerror=alert(1)></pre></script><script>alert(2)</script>" onload="x\' {{ 7*7 }} '
    "&amp; `` ``` ````\n```\n[a](javascript:b) "
    "![c](http://evil.example/d) <http://evil.example> www.evil.example | # _e_ *f*\n~~~\n"
    "# heading\n\x00\x1b[31m\u202eright\ud800 $x$"
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
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
    """A class of one, in which everything that strangers write is `text`."""
    report = full_report(random.Random(1))
    report["notices"] = [text]
    for check in report["checks"]:
        if check["id"] in ("1c-0-basic", "1h-5-hidden"):
            fail(report, check["id"], "wrong answer", text)
    report["checks"][0]["hints"] = [text]
    fail(report, "1c-7-hidden", "grader error", text)
    entry = Entry(
        Person("1", text, text, text, text, text, text, text),
        "folder",
        source=text,
        report=report,
        remarks=[text],
        written={"1g-0-written": 1.5},
        comments={"1g-0-written": text},
    )
    for name, value in changes.items():
        setattr(entry, name, value)
    return GradedClass(MANIFEST, "Assignment", [entry])


def rendered(graded):
    """The student's page, and the class page."""
    return student_page.page(graded, graded.entries[0]), class_page.page(graded)


class Outline(HTMLParser):
    """The tags of a page, each with the names of its attributes; its links; and what is not in
    balance.
    """

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.links, self.wrong = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, tuple(name for name, _ in attributes)))
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in ("meta", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, tuple(name for name, _ in attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_a_page_tells_points_penalty_messages_and_written_parts():
    graded = one("it is 3 and should be 4", days_late=2, penalty=0.2)
    checks = graded.entries[0].report["checks"]
    broken = next(check for check in checks if check["verdict"] == "grader error")
    broken |= {"verdict": "passed", "score": broken["max_score"], "message": "", "details": ""}
    given = MANIFEST.checks["1g-0-written"].points
    left = sum(check.points for check in MANIFEST.checks.values() if not check.coded) - given
    automatic = sum(check["max_score"] for check in checks if check["verdict"] == "passed")
    words = shown(rendered(graded)[0]).replace("−", "-")
    earned, before, cost = map(points, (0.8 * automatic, automatic, 0.2 * automatic))
    assert (
        f"{earned} of {points(graded.automatic_points)} automatic points and 1.5 of "
        f"{points(given)} written points; {points(left)} written points are not marked yet"
    ) in words
    total = points(0.8 * automatic + 1.5)
    assert f"Total {total} {points(graded.regular_points)}" in words
    assert f"2 days late, 20% of the {before} automatic points -{cost}" in words
    assert "it is 3 and should be 4" in words and MANIFEST.checks["1h-5-hidden"].title in words
    assert "Comment" in words and "no grade" not in words


def shown(page):
    """The text of a page, without its styles."""
    page = re.sub(r"(?s)<style>.*?</style>|<[^>]+>", " ", page)
    return re.sub(r"\s+", " ", html.unescape(page))


@pytest.mark.parametrize("handout", ["", "https://course.example/a5/handout.html"])
def test_the_score_and_where_to_start_come_first(handout):
    graded = one(written={}, comments={}, remarks=[], source="")
    graded.handout, entry = handout, graded.entries[0]
    entry.report = full_report(random.Random())
    automatic = points(graded.automatic_points)
    left = points(sum(check.points for check in MANIFEST.checks.values() if not check.coded))
    line = f"{automatic} of {automatic} automatic points; {left} written points are not marked yet"
    page, _ = rendered(graded)
    assert line in shown(page) and "Start here" not in page
    said = "encoder.py:71  MultiHeadAttention.forward"
    lost = "5d-1-basic", "5d-4-hidden", "5e-0-basic"
    for id in lost:
        fail(entry.report, id, "not implemented", said)
    worth = points(sum(MANIFEST.checks[id].points for id in lost))
    page, _ = rendered(graded)
    start = page[page.index("Start here") : page.index("<h2>Points")]
    assert page.index('class="score"') < page.index("Start here")
    assert start.count("<li>") == 1
    assert "MultiHeadAttention.forward is not written yet: encoder.py, line 71" in shown(start)
    assert f"{worth} points" in shown(start) and "3 checks" in shown(start)
    assert (f'href="{handout}#q-5d"' in start) == bool(handout)


def test_what_passed_and_what_is_hidden_is_folded():
    page, _ = rendered(one("it is 3"))
    unfolded = shown(re.sub(r"(?s)<details>.*?</details>", "", page))
    assert "1c-0-basic" in unfolded and "it is 3" in unfolded
    assert "1c-2-basic" not in unfolded and "-hidden" not in unfolded
    assert all(check.id in page for check in MANIFEST.checks.values() if check.coded)


def test_a_message_stands_once():
    graded = one()
    ids = "5e-0-basic", "5e-3-basic", "5e-9-basic"
    for id in ids:
        fail(graded.entries[0].report, id, "exception", "encoder.py, line 7: KeyError: 'once'")
    page, _ = rendered(graded)
    assert shown(page.split("<h2>Checks")[1]).count("'once'") == 1
    assert all(id in page for id in ids)


def test_wrong_numbers_are_outlined_beside_the_right_ones():
    graded, rng = one(), random.Random()
    rows, columns = 3, 5
    right = [[f"{rng.uniform(-1, 1):.4g}" for _ in range(columns)] for _ in range(rows)]
    got, wrong = [list(row) for row in right], [[False] * columns for _ in right]
    got[2][1], got[0][4], wrong[2][1], wrong[0][4] = "nan", "9.5", True, True
    kept = {"place": "[1, 0:3, 0:5]", "expected": right, "got": got, "wrong": wrong}
    for check in graded.entries[0].checks:
        if check["id"] in ("1c-0-basic", "1h-5-hidden"):
            check["compared"] = kept
    page = rendered(graded)[0]
    pictures = re.findall(r'(?s)<svg[^>]*class="numbers".*?</svg>', page)
    assert len(pictures) == 2, "of a hidden check nothing is drawn"
    assert [picture.count('class="off"') for picture in pictures] == [2, 2]
    assert "Expected [1, 0:3, 0:5]" in shown(page) and "Yours [1, 0:3, 0:5]" in shown(page)
    assert "row 1, column 5: 9.5; row 3, column 2: nan" in pictures[1]
    assert ">9.5" in pictures[1] and ">nan<" in pictures[1]


def test_hidden_checks_keep_their_secrets():
    graded = one()
    for check in graded.entries[0].report["checks"]:
        if check["id"].endswith("-hidden"):
            check |= {
                "details": "SECRET",
                "facts": {"SECRET": 0.123, "accuracy vanilla.pretrain.dev": 0.987},
                "hints": ["SECRET"],
                "compared": {
                    "place": "SECRET",
                    "expected": [["1"]],
                    "got": [["2"]],
                    "wrong": [[1]],
                },
                "seconds": 55.55,
            }
            if check["verdict"] == "passed":
                check["message"] = ""
    page, staff = rendered(graded)
    assert not re.search(r"SECRET|0\.123|98\.7|55\.5", page)
    assert "SECRET" in staff


def test_a_check_that_the_manifest_lost_is_not_shown():
    graded = one()
    graded.entries[0].report["checks"].append(
        graded.entries[0].report["checks"][0] | {"id": "1c-99-hidden", "message": "GONE"}
    )
    assert "GONE" not in rendered(graded)[0]


@pytest.mark.parametrize(
    "changes", [{}, {"report": None, "refused": HOSTILE, "written": {}, "comments": {}}]
)
def test_html_obeys_no_stranger(changes):
    plain = {"report": None, "refused": "plain", "written": {}, "comments": {}} if changes else {}
    for hostile, benign in zip(rendered(one(HOSTILE, **changes)), rendered(one("plain", **plain))):
        there, expected = Outline(hostile), Outline(benign)
        assert Counter(there.tags) == Counter(expected.tags)  # nothing but what the templates hold
        assert not there.wrong and not there.open
        assert set(there.links) == set(expected.links)
        assert not re.search("[\x00\x1b\u202e\ud800]", hostile)
        assert "{{ 7*7 }}" in hostile
        hostile.encode("utf-8")


def test_pages_need_no_network(graded, out):
    for path in (out / "class.html", out / "students" / graded.entries[0].folder / "feedback.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://|url\(|@import|src=", text)
        assert "default-src 'none'" in text
    assert "<script" not in text  # of a student's page


def test_refused_and_missing_say_why_and_what_to_do():
    graded = one(report=None, refused="It is an HTML page.", written={}, comments={})
    page = rendered(graded)[0]
    assert "It is an HTML page." in page and "collect_submission.sh" in page
    assert f"of {points(graded.regular_points)}" not in page
    page = rendered(one(report=None, source="", written={}, comments={}))[0]
    assert "Nothing was handed in" in page and "tell the staff" in page


def test_an_excused_person_has_no_total():
    page = rendered(one(excused="ill"))[0]
    assert "Excused" in page and "Points" in page and "Total" not in page


def test_what_concerns_the_staff_alone_is_on_no_students_page():
    graded = one(for_staff=["git is not installed on this machine"])
    assert "git is not installed" not in rendered(graded)[0]
    assert "git is not installed" in gradebook.plain(graded)


def test_a_grader_error_is_no_grade():
    page = shown(rendered(one())[0])
    assert "This is not a grade yet" in page and "not your fault" in page


def test_the_plot_shows_the_basic_checks_accuracies():
    graded = one()
    facts = {check["id"]: check["facts"] for check in graded.entries[0].report["checks"]}
    facts["1e-2-basic"].update({"accuracy vanilla.nopretrain.dev": 0.0})
    facts["1f-6-basic"].update(
        {"accuracy vanilla.pretrain.dev": 0.495, "needed vanilla.pretrain.dev": 0.2}
    )
    facts["1h-8-basic"].clear()
    page, _ = rendered(graded)
    assert "without pretraining: 0%; learned positions: 49.5%, needed 20%; RoPE: no result" in page
    del facts["1f-6-basic"]["needed vanilla.pretrain.dev"]
    assert "needed 20%" not in rendered(graded)[0]


def test_a_claim_is_not_drawn_as_a_result():
    graded = one()
    facts = {check["id"]: check["facts"] for check in graded.entries[0].report["checks"]}
    facts["1f-6-basic"].clear()
    facts["1h-8-basic"].clear()
    facts["1f-6-basic"].update(
        {"claimed vanilla.pretrain.dev": 0.913, "needed vanilla.pretrain.dev": 0.2}
    )
    facts["1h-8-basic"].update({"claimed rope.pretrain.dev": 0.07, "needed rope.pretrain.dev": 0.2})
    page, staff = rendered(graded)
    assert "learned positions: not reproduced, needed 20%" in page
    assert "RoPE: not enough: 7% by your predictions, needed 20%" in page
    assert "91.3" not in page + staff
    bars = re.search(r'(?s)<svg[^>]*class="plot".*?</svg>', page)[0]
    assert bars.count('class="bar"') == 1  # without pretraining


def test_names_in_any_script(graded, out):
    for entry in graded.entries[:5]:
        page = out / "students" / entry.folder / "feedback.html"
        assert entry.person.name in page.read_text(encoding="utf-8")


def test_equal_files_stay(graded, tmp_path):
    few = replace(graded, entries=graded.entries[:3])
    write_reports(few, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    write_reports(few, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert not list(tmp_path.rglob("*.tmp"))


def test_grading_json_has_the_whole_report(graded, out):
    entry = graded.entries[12]
    content = json.loads(
        (out / "students" / entry.folder / "grading.json").read_text(encoding="utf-8")
    )
    assert (
        content["report"] == entry.report
        and content["total"] == entry.total
        and content["person"]["id"] == entry.person.id
    )


def test_equal_mistakes_are_one_diagnosis():
    same = [
        "In all 300 examples the length is 7, not 'ab'.",
        "In all 12 examples the length is 19.5, not 'it'.\nMore.",
    ]
    assert len({class_page.diagnosis(text) for text in same}) == 1
    assert (
        class_page.diagnosis("y[3] isn't what the student's x[-4e-3] was: 1c, `a`")
        == "y[#] isn't what the student's x[#] was: 1c, ‘…’"
    )


def test_class_page_counts(graded, out):
    text = (out / "class.html").read_text(encoding="utf-8")
    with_report = sum(entry.report is not None for entry in graded.entries)
    assert (
        "<b>200</b>people" in text
        and f"<b>{with_report}</b>graded" in text
        and "<b>1</b>grader error" in text
    )
    failed = sum(
        check["verdict"] != "passed"
        for entry in graded.entries
        for check in entry.checks
        if check["id"] == "1c-4-hidden"
    )
    assert f"{failed} wrong answer" in text
    assert f"{failed} × A truncated length of # never came in # examples." in text
    assert "Cannot allocate memory" in text
    assert text.index('id="everybody"') < text.index('id="checks"') < text.index('id="mistakes"')
    order = re.findall(r'<th scope="row" class="nowrap">(\w+-\d+) <span class="tag">(\w+)', text)
    lost = Counter(
        check["id"]
        for entry in graded.entries
        for check in entry.checks
        if check["verdict"] != "passed"
    )
    counts = [lost["-".join(name)] for name in order]
    assert len(order) > 100 and counts == sorted(counts, reverse=True)
    seconds = max(sum(check["seconds"] for check in entry.checks) for entry in graded.entries)
    assert f"{seconds:.1f}</td>" in text
    assert text.count('href="students/') >= 200


@pytest.mark.parametrize("entries", [[], [Entry(Person("1", "A"), "a")]])
def test_a_class_without_submissions_has_a_page(entries):
    assert "Nothing is graded yet." in class_page.page(GradedClass(MANIFEST, "T", entries))


def test_epochs_beyond_all_measure_do_not_spoil_the_plot():
    graded = make_class(20)
    next(check for check in graded.entries[3].checks if check["id"] == "1f-0-basic")["facts"][
        "max_epochs"
    ] = 1e300
    text = class_page.page(graded)
    assert all(float(x) < 430 for x in re.findall(r'class="dot one" cx="([^"]+)"', text))


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_contrast_in_light_and_dark(out):
    style = (out / "class.html").read_text(encoding="utf-8").split("@media print")[0]
    palettes = [
        dict(re.findall(r"--(\w+): (#\w{6})", block))
        for block in re.findall(r":root \{.*?\}", style, re.DOTALL)
    ]
    assert len(palettes) == 2
    for palette in palettes:
        for name in ("ink", "muted", "accent", "second", "good", "bad", "warn"):
            for ground in ("paper", "panel"):
                dark, light = sorted((luminance(palette[name]), luminance(palette[ground])))
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


def dump(path, folder):
    """The page as Chromium has it once its script has run."""
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    return done.stdout


CLICKS = """<script>
const names = column => [...body.rows].filter(row => !row.hidden).map(row => row.cells[column].textContent);
const header = text => [...table.tHead.rows[0].cells].find(cell => cell.textContent.trim() === text);
const told = {};
header("Total").firstElementChild.click();
told.highest = [header("Total").getAttribute("aria-sort"), ...names(header("Total").cellIndex)];
header("Total").firstElementChild.click();
told.lowest = [header("Total").getAttribute("aria-sort"), ...names(header("Total").cellIndex)];
header("Name").firstElementChild.click();
told.names = names(0);
told.sorted = document.querySelectorAll("[aria-sort]").length;
text.value = "SEARCHED"; text.dispatchEvent(new Event("input"));
told.filtered = names(0);
text.value = "s100207@"; text.dispatchEvent(new Event("input"));
told.email = names(0);
text.value = ""; section.value = "Section 2"; section.dispatchEvent(new Event("input"));
told.section = [...new Set(names(1))]; told.shown = shown.textContent;
const found = document.createElement("textarea"); found.id = "told"; found.textContent = JSON.stringify(told); document.body.append(found);
</script></body>"""


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: apt install chromium")
def test_the_table_sorts_and_filters(graded, out, tmp_path):
    text = (out / "class.html").read_text(encoding="utf-8")
    # so the page's policy lets its script run
    assert "200 of 200 shown" in dump(out / "class.html", tmp_path / "a")
    # both parts count, in any order and case
    given, family = (part[:3].lower() for part in graded.entries[100].person.name.split())
    clicked = tmp_path / "clicked.html"
    clicked.write_text(
        re.sub(r"script-src '[^']+'", "script-src 'unsafe-inline'", text).replace(
            "</body>", CLICKS.replace("SEARCHED", f"{family} {given.upper()}")
        ),
        encoding="utf-8",
    )
    told = json.loads(
        html.unescape(
            re.search(
                r'<textarea id="told">(.*?)</textarea>', dump(clicked, tmp_path / "b"), re.DOTALL
            )[1]
        )
    )
    totals = sorted(
        (
            entry.total
            for entry in graded.entries
            if (entry.report or entry.written) and not entry.pending
        ),
        reverse=True,
    )
    number = len(totals)
    assert (
        told["highest"][0] == "descending"
        and told["lowest"][0] == "ascending"
        and told["sorted"] == 1
    )
    # two decimals are shown
    assert [float(value) for value in told["highest"][1 : number + 1]] == pytest.approx(
        totals, abs=0.005
    )
    assert [float(value) for value in told["lowest"][1 : number + 1]] == pytest.approx(
        totals[::-1], abs=0.005
    )
    # without a grade: last, either way
    assert set(told["highest"][number + 1 :]) == set(told["lowest"][number + 1 :]) == {"–"}
    assert len(told["names"]) == 200 and told["names"][0].startswith("A. Guest")
    wanted = sorted(
        entry.person.name
        for entry in graded.entries
        if given in entry.person.name.lower() and family in entry.person.name.lower()
    )
    assert sorted(told["filtered"]) == wanted and 0 < len(wanted) < 100
    assert told["email"] == [graded.entries[7].person.name]
    assert told["section"] == ["Section 2"] and told["shown"] == "50 of 200 shown"


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


@pytest.mark.full
def test_long_names_wrap_on_a_phone(browser, tmp_path):
    graded = one()
    long = "vanilla.nopretrain.dev.predictions" * 2
    fail(graded.entries[0].report, "1e-2-basic", "wrong answer", f"{long} doesn't exist yet.")
    write_reports(graded, tmp_path)
    with opened(browser, next(tmp_path.rglob("feedback.html")), "narrow") as tab:
        assert long in tab.locator(".start").inner_text() and sideways(tab) == 0


@pytest.mark.full
def test_captions_are_whole_on_a_phone(browser, pages):
    for name in ("class", "messages"):
        with opened(browser, pages / f"{name}.html", "narrow") as tab:
            assert tab.locator("caption").count() and tab.evaluate(CUT) == []


@pytest.mark.full
def test_names_stay_in_sight_while_points_scroll(browser, pages):
    with opened(browser, pages / "class.html", "narrow") as tab:
        people = tab.locator("#people")
        name, last = people.locator("tbody th").nth(3), people.locator("tbody tr").nth(3)
        tab.evaluate("document.querySelector('.tall').scrollTo(5000, 300)")
        box, cell = name.bounding_box(), last.locator("td").last.bounding_box()
        assert 0 <= box["x"] < 40 and cell["x"] + cell["width"] <= 390
    with opened(browser, pages / "class.html") as tab:
        region = "document.querySelector('.tall')"
        assert tab.evaluate(f"{region}.scrollWidth - {region}.clientWidth") == 0


@pytest.mark.full
def test_nothing_is_cut_off_in_print(browser, pages):
    with opened(browser, pages / "class.html") as tab:
        tab.emulate_media(media="print")
        tab.set_viewport_size({"width": 1000, "height": 700})  # A4 across, less its margins
        assert sideways(tab) == 0
        region = "document.querySelector('.tall')"
        assert tab.evaluate(f"{region}.scrollWidth - {region}.clientWidth") == 0
        assert tab.evaluate(f"{region}.scrollHeight - {region}.clientHeight") == 0
