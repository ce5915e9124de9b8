"""The handout: it builds, agrees with the manifest, names only what exists, and keeps the answers
out.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import grader
import run
from autograder.manifest import read_manifest
from common.files import UserError
from helpers import ROOT, pdftotext, require_tools
from instructor.course import Course
from instructor.documents import facts
from instructor.documents.numbers import compute
from instructor.documents.sources import Sources, answer_sheet
from instructor.release import known_secrets, leaks
from instructor.release.handout import build_handout, pages
from instructor.release.student_texts import OF_HANDOUT, PAGES, student_readme
from jobs.targets import MADE_BY, TARGETS

HANDOUT = ROOT / "handout"
MANIFEST = read_manifest(ROOT / "src" / "checks" / "manifest.toml")
WRITTEN = {id: check for id, check in MANIFEST.checks.items() if not check.coded}
RUBRIC = re.compile(r"\\begin\{rubric\}\{(.*?)\}(.*?)\\end\{rubric\}", re.DOTALL)
PLACES = [*HANDOUT.glob("*.tex"), *HANDOUT.glob("front/*.tex")]
TEXTS = [path.read_text("utf-8") for path in PLACES if path.stem not in ("macros", "main")]
STUDENTS = "\n".join(TEXTS)
PATHS = (ROOT / "instructor" / "rubrics").glob("*.tex")
RUBRICS = {path.stem: path.read_text(encoding="utf-8") for path in PATHS}


def text_of(pdf, *options):
    """A PDF's text, with its lines joined."""
    return " ".join(re.sub(r"-\n(?=[a-z])", "", pdftotext(pdf, *options)).split())


# What is built


@pytest.mark.full
@pytest.mark.parametrize("edition", ["handout", "submission", "solutions"])
def test_nothing_runs_over_and_nothing_is_undefined(request, edition):
    build = request.getfixturevalue("solutions" if edition == "solutions" else "handout")
    log = (build / f"{edition}.log").read_text(encoding="utf-8", errors="replace")
    log = log.replace("\n", " ")
    over = [float(points) for points in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", log)]
    assert max(over, default=0) < 2, "points (1/72 inch) over the margin"
    assert not re.findall(r"undefined|multiply defined|Missing character|Font Warning", log)
    assert len(text_of(build / f"{edition}.pdf")) > 300


@pytest.mark.full
@pytest.mark.parametrize("dialect, own_python", [("make", True), ("bmake", False)])
def test_it_is_the_same_in_a_folder_with_a_space(handout, tmp_path, dialect, own_python):
    """By GNU make with a Python named to it, and by BSD make with that of run.sh."""
    require_tools(dialect)
    copy = tmp_path / "my course"
    left_out = shutil.ignore_patterns(".git", ".venv", "tests", "build", "runs", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=left_out)
    python = copy / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    command = [dialect, "-C", str(copy / "handout"), "html"] + own_python * [f"PYTHON={python}"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(command, env=os.environ | {"PATH": path}, check=True)
    made, page = copy / "handout" / "handout.html", handout / "handout.html"
    assert made.read_bytes() == page.read_bytes()


def test_the_pdf_states_points_and_titles_of_the_manifest(handout):
    """Computed here again, without facts.py."""
    shown = text_of(handout / "handout.pdf")
    for id, question in MANIFEST.questions.items():
        mine = [check for check in MANIFEST.checks.values() if check.question == id]
        steps = [check.step for check in mine if check.coded]
        coded, written = (
            sum(check.points for check in mine if check.coded == kind) for kind in (True, False)
        )
        parts = f": {coded:g} coded, {written:g} written"
        if not coded or not written:
            parts = ", coded" if coded else ", written"
        parts += ", extra credit" * bool(question.extra_credit)
        heading = rf"\({id[-1]}\) {re.escape(question.title)} .{{,40}}?"
        assert re.search(rf"{heading}\[{coded + written:g} points?{parts}\]", shown), id
        for number, step in enumerate(question.steps, start=1):
            points = sum(check.points for check in mine if check.step == number)
            assert f"Step {number}: {step}. [{points:g} point" in shown and all(steps), id


def test_the_pages_of_questions_are_those_of_the_pdf(handout):
    shown = pages(handout)
    for id, question in MANIFEST.questions.items():
        page = text_of(handout / "handout.pdf", "-f", shown[id], "-l", shown[id])
        assert f"({id[-1]}) {question.title}" in page and f"Problem {id[0]}" in page, id
        assert page.endswith(str(shown[id])), "the number that the page has at its foot"


def given(rubric):
    """The points of a rubric's lines."""
    return [float(points) for points in re.findall(r"\\give\{([\d.]+)\}", rubric)]


def test_every_written_part_has_its_text_answer_rubric_and_box():
    code = r"% ### START_CODE_HERE ###\n.*?\n% ### END_CODE_HERE ###"
    box = rf"\\begin\{{answerbox\}}\{{(.*?)\}}\n{code}\n\\end\{{answerbox\}}"
    names = facts.points(MANIFEST)
    boxes = re.findall(box, answer_sheet(Course("T")), re.DOTALL)
    assert boxes == [names[f"check {id} name"] for id in WRITTEN], "answerbox"
    parts = re.findall(r"\\subpart\{(.*?)\}", STUDENTS)
    several = {id for id in WRITTEN if names[f"check {id} part"] != "Written"}
    assert several <= set(parts) <= set(WRITTEN) and len(parts) == len(set(parts)), r"\subpart"
    asked = re.findall(r"\\solution\{(.*?)\}", STUDENTS)
    assert sorted(asked) == sorted({check.question for check in WRITTEN.values()}), r"\solution"
    assert {*asked} == RUBRICS.keys() - {"marking"}, "instructor/rubrics"
    for question in asked:
        rubrics = dict(RUBRIC.findall(RUBRICS[question]))
        assert [*rubrics] == [id for id in WRITTEN if WRITTEN[id].question == question]
        assert RUBRICS[question].count(r"\begin{answer}") == len(rubrics)
        assert all(given(rubric) and min(given(rubric)) > 0 for rubric in rubrics.values())
        assert all(rubric.count(r"\mistake{") >= 3 for rubric in rubrics.values())


def test_every_question_and_step_is_asked():
    asked = re.findall(r"\\begin\{question\}\{(\w+)\}", STUDENTS)
    assert sorted(asked) == sorted(MANIFEST.questions)
    assert re.findall(r"\\step\{(.*?)\}", STUDENTS) == [
        f"{id}-{number}"
        for id, question in MANIFEST.questions.items()
        for number, _ in enumerate(question.steps, start=1)
    ]


def test_students_get_no_answers(handout):
    secrets = known_secrets.gather_secrets()
    assert sum("rubric" in what for what in secrets.runs.values()) > 1000
    names = ("handout.pdf", "handout.html", "submission.pdf")
    editions = {name: leaks.text_of(name, (handout / name).read_bytes()) for name in names}
    assert leaks.find_leaks(editions, secrets) == []


@pytest.mark.full
def test_staff_get_answers_and_rubrics(solutions):
    pdf = solutions / "solutions.pdf"
    text = leaks.text_of("handout.pdf", pdf.read_bytes())
    found = leaks.find_leaks({"handout.pdf": text}, known_secrets.gather_secrets())
    assert any("worked answer" in leak for leak in found)
    shown, names = text_of(pdf), facts.points(MANIFEST)
    assert all(f"Rubric for {names[f'check {id} name']} (" in shown for id in WRITTEN)
    rubrics = RUBRIC.findall("".join(RUBRICS.values()))
    scaled = [id for id, rubric in rubrics if sum(given(rubric)) != WRITTEN[id].points]
    assert shown.count("scale what lines give and take") == len(scaled)


def test_the_course_is_on_the_front_page(tmp_path):
    settings = tmp_path / "course.toml"
    settings.write_text(Course("A & B_c", "CS 99%", "Friday, #1").as_toml(), encoding="utf-8")
    front = Sources(facts.gather(settings) | compute()).read().partition(r"\begin{document}")[2]
    for fact in (r" A \& B\_c\par", r"CS 99\%\par", r"Due: Friday, \#1\par"):
        assert fact in front


@pytest.mark.full
def test_a_release_has_the_handout_built_twice_the_same_bytes(handout):
    files = build_handout()
    for name in ("handout.pdf", "handout.html"):
        assert files[name] == (handout / name).read_bytes()
    assert json.loads(files["pages.json"]) == pages(handout)


def test_tools_that_are_missing_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="needs make, latexmk, pandoc, pdftotext.*--no-handout"):
        build_handout()


# What it names


def test_commands_are_there():
    """Targets of run.sh, ids of the grader, and options."""
    text = STUDENTS.replace(r"\_", "_")
    targets = {*TARGETS, "all", "demo", "help", "TARGET"}
    assert {*re.findall(r"\./run\.sh (\w+)", text)} <= targets
    ids = {*MANIFEST.checks, *MANIFEST.questions, *(id[0] for id in MANIFEST.questions), "ID"}
    assert {*re.findall(r"grader\.py (\w[\w-]*)", text)} <= ids
    assert {*re.findall(r"\b\d[a-h]-\d+-(?:basic|hidden|written)\b", text)} <= ids
    files = ("src/collect.py", "src/submission/dataset.py")
    known = "".join((ROOT / name).read_text(encoding="utf-8") for name in files)
    known += grader.build_parser().format_help() + run.build_parser().format_help()
    for option in set(re.findall(r"(?<![\w-])--[a-z][\w-]+", re.sub(r"-{4,}", "", text))):
        assert option in known, option


def test_files_are_there():
    """Every path that the text names is in a release, or made by a job."""
    made = {*MADE_BY, "submission.zip", "submission.tex", ".venv", "all.log"}
    folders = [path for name in ("src", "data", "handout") for path in (ROOT / name).rglob("*")]
    there = made | {path.name for path in [*ROOT.iterdir(), *folders]}
    ends = "py|sh|tsv|txt|toml|yml|ipynb|bat|tex|json|params|predictions"
    for path in map(Path, re.findall(rf"\\code\{{([^}} ]*?[\w/]\.(?:{ends}))\}}", STUDENTS)):
        assert path.name in there, path
        if path.parts[0] in ("src", "data", "handout"):
            assert (ROOT / path).exists() or path.name in made, path


def test_the_students_readme_names_the_handout_where_there_is_one():
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / PAGES).glob("*.md")]
    readme = student_readme(Course("T"), pages)
    assert "handout/handout.pdf" in readme and "handout/submission.tex" in readme
    pages.remove(OF_HANDOUT)
    assert "handout" not in student_readme(Course("T"), pages)


# How it reads


def prose(tex):
    """The words outside commands, formulas and code."""
    for pattern in (
        r"(?<!\\)%.*",
        r"(?s)\\begin\{(terminal|python|(?:equation|align|gather)\*?)\}.*?\\end\{\1\}",
        r"(?s)\\\[.*?\\\]",
        r"\$[^$]*\$",
        r"\\begin\{tabularx?\}(?:\{[^{}]*\})?\{(?:[^{}]|\{[^{}]*\})*\}",
        r"\\(?:begin|end|multicolumn\{\d\})\*?\{[^{}]*\}(?:\[[^]]*\])?",
        r"\\(?:code|texttt|fact|q|label|ref|eqref|solution|seehints|subpart|input|href|url|iffact|"
        r"setcounter|paper|hyperref|pic)\b(?:\[[^]]*\])?(?:\{[^{}]*\})?",
    ):
        tex = re.sub(pattern, " ", tex)
    tex = re.sub(r"\\(?:['\"`^~]|c(?=\{))\{?(\w)\}?", r"\1", tex)
    return re.sub(r"\\[A-Za-z]+\*?|\\.|[{}~&]", " ", tex).replace("``", " ").replace("''", " ")


def test_spelling():
    """Hunspell or handout/words.txt has every word, and words.txt has no unused word."""
    require_tools("hunspell")
    sheet = answer_sheet(Course("T")).partition(r"\begin{document}")[2]
    texts = "\n".join(map(prose, [STUDENTS, sheet, *RUBRICS.values()]))
    words = set(re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", texts))
    process = subprocess.run(
        ["hunspell", "-l", "-d", "en_US", "-i", "utf-8"],
        input="\n".join(sorted(words)),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    unknown = {re.sub(r"['’]s$", "", word).casefold() for word in process.stdout.split()}
    own = set((HANDOUT / "words.txt").read_text(encoding="utf-8").split())
    assert unknown <= own, "mend these, or add them to handout/words.txt"
    assert own <= unknown, "no longer needed in words.txt"


def test_a_fault_is_found_by_its_file(tmp_path):
    (tmp_path / "front").mkdir()
    for name, text in (("main.tex", "\\pieces{x}\nz"), ("front/problem1.tex", "%% x\n\\fact{y}\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="^front/problem1.tex, line 2: there is no fact 'y'"):
        Sources({"problem 1 chosen": ""}, tmp_path).read()


def test_a_fact_may_be_the_cells_of_a_row(tmp_path):
    (tmp_path / "main.tex").write_text(r"Both & \fact{row} \\", encoding="utf-8")
    assert Sources({"row": ["A & B", "5%"]}, tmp_path).read() == r"Both & A \& B & 5\% \\"


def test_papers_have_one_name_each_and_their_year():
    found = {*re.findall(r"\\paper\{(.*?)\}\{(.*?)\}", STUDENTS)}
    assert len(found) == len(dict(found)) >= 8
    for id, name in found:
        years = int(re.search(r"(?:19|20)\d\d", name)[0]) - (2000 + int(id[:2]))
        assert re.fullmatch(r"\d{4}\.\d{4,5}", id) and 0 <= years <= 2, name
