"""The handout: it builds, agrees with the manifest, names only what exists, and keeps the answers
out.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
import torch

from autograder.manifest import read_manifest
from common.files import UserError
from conftest import ROOT, require_tools
from instructor.course import Course, read_course
from instructor.documents import facts
from instructor.release import known_secrets, leaks
from instructor.release.build import make_tree
from instructor.release.handout import build_handout, pages
from instructor.release.student_texts import student_readme
from jobs.deliverables import MADE_BY
from jobs.presets import GPU, LAPTOP
from jobs.targets import JOBS, TARGETS

HANDOUT, SOLUTIONS = ROOT / "handout", ROOT / "instructor" / "rubrics"
MANIFEST = read_manifest(ROOT / "src" / "checks" / "manifest.toml")
WRITTEN = {check.id: check for check in MANIFEST.checks.values() if not check.coded}
RUBRIC = re.compile(r"\\begin\{rubric\}\{(.*?)\}(.*?)\\end\{rubric\}", re.DOTALL)
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in HANDOUT.glob("*.tex")}
STUDENTS = "\n".join(
    text
    for name, text in SOURCES.items()
    if name not in ("macros.tex", "main.tex", "submission.tex")
)
RELEASED = ("src/", "data/", "run.sh", "collect_submission", "environment.yml", "handout/")


def text_of(pdf):
    """A PDF's text, with its lines joined."""
    shown = subprocess.run(
        ["pdftotext", str(pdf), "-"], capture_output=True, encoding="utf-8", check=True
    ).stdout
    return " ".join(re.sub(r"-\n(?=[a-z])", "", shown).split())


# What is built


@pytest.mark.full
@pytest.mark.parametrize("edition", ["handout", "submission", "solutions"])
def test_nothing_runs_over_and_nothing_is_undefined(request, edition):
    handout = request.getfixturevalue("solutions" if edition == "solutions" else "handout")
    log = (
        (handout / f"{edition}.log")
        .read_text(encoding="utf-8", errors="replace")
        .replace("\n", " ")
    )
    over = [float(points) for points in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", log)]
    assert max(over, default=0) < 2, "points (1/72 inch) over the margin"
    assert not re.findall(r"undefined|multiply defined|Missing character|Font Warning", log)
    shown = text_of(handout / f"{edition}.pdf")
    assert len(shown) > 300


@pytest.mark.parametrize("dialect", ["make", "bmake"])
def test_a_python_in_a_folder_with_a_space_builds_it(tmp_path, dialect):
    require_tools(dialect)
    python = tmp_path / "my course" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    build = tmp_path / "build"
    build.mkdir()
    subprocess.run(
        [dialect, f"PYTHON={python}", f"BUILD={build}", str(build / "facts.tex")],
        cwd=HANDOUT,
        check=True,
    )
    assert (build / "facts.tex").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.parametrize("dialect", ["make", "bmake"])
def test_it_is_built_in_a_folder_with_a_space_by_the_python_of_run_sh(tmp_path, dialect):
    require_tools(dialect, "pandoc")
    copy = tmp_path / "my course"
    for name in ("src", "instructor", "data", "docs", "handout", "run.sh", "course.toml"):
        source, target = ROOT / name, copy / name
        target.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("build", "runs"))
        else:
            shutil.copy(source, target)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        [dialect, "-C", str(copy / "handout"), "html"], env=os.environ | {"PATH": path}, check=True
    )
    assert "Rotary" in (copy / "handout" / "handout.html").read_text(encoding="utf-8")


def test_the_pdf_states_points_and_titles_of_the_manifest(handout):
    """Computed here again, without facts.py."""
    shown = text_of(handout / "handout.pdf")
    for id, question in MANIFEST.questions.items():
        coded = sum(
            check.points
            for check in MANIFEST.checks.values()
            if check.question == id and check.coded
        )
        written = sum(check.points for check in WRITTEN.values() if check.question == id)
        parts = ", ".join(
            f"{points:g} {kind}"
            for points, kind in ((coded, "coded"), (written, "written"))
            if points
        )
        heading = re.search(
            rf"\({id[-1]}\) {re.escape(question.title)} .{{,40}}?\[(\d.*?)\]", shown
        )
        assert heading, id
        numbers = [float(number) for number in re.findall(r"[\d.]+", heading[1])]
        assert numbers[0] == coded + written and (f"{numbers[0]:g} point" in heading[1])
        assert all(part.split()[1] in heading[1] for part in parts.split(", ")) and (
            len(numbers) == 1 or numbers[1:] == [coded, written]
        )
        question = MANIFEST.questions.get(id)
        assert ("extra credit" in heading[1]) == bool(question and question.extra_credit)


def test_the_pages_of_questions_are_those_of_the_pdf(handout):
    shown = pages(handout)
    assert set(shown) >= set(MANIFEST.questions)
    for id, question in MANIFEST.questions.items():
        page = subprocess.run(
            ["pdftotext", "-f", str(shown[id]), "-l", str(shown[id])]
            + [str(handout / "handout.pdf"), "-"],
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        text = " ".join(page.split())
        assert f"({id[-1]}) {question.title}" in text and f"Problem {id[0]}" in text, id
        assert text.endswith(str(shown[id])), "the number that the page has at its foot"


def given(rubric):
    """The points of a rubric's lines."""
    return [float(points) for points in re.findall(r"\\give\{([\d.]+)\}", rubric)]


def test_every_written_part_has_its_text_answer_rubric_and_box():
    boxes = re.findall(
        r"\\begin\{answerbox\}\{(.*?)\}\n% ### START_CODE_HERE ###\n.*?\n% ### END_CODE_HERE ###\n\\end\{answerbox\}",
        SOURCES["submission.tex"],
        re.DOTALL,
    )
    names = facts.points(MANIFEST)
    assert boxes == [names[f"check {id} name"] for id in WRITTEN]
    parts = re.findall(r"\\subpart\{(.*?)\}", STUDENTS)
    alone = {
        id
        for id, check in WRITTEN.items()
        if sum(other.question == check.question for other in WRITTEN.values()) == 1
    }
    assert set(WRITTEN) - alone <= set(parts) <= set(WRITTEN) and len(parts) == len(set(parts))
    asked = re.findall(r"\\solution\{(.*?)\}", STUDENTS)
    assert (
        Counter(asked)
        == Counter({check.question for check in WRITTEN.values()})
        == Counter({path.stem for path in SOLUTIONS.glob("*.tex")} - {"marking"})
    )
    for question in asked:
        text = (SOLUTIONS / f"{question}.tex").read_text(encoding="utf-8")
        rubrics = RUBRIC.findall(text)
        assert [id for id, _ in rubrics] == [
            id for id, check in WRITTEN.items() if check.question == question
        ]
        assert text.count(r"\begin{answer}") == len(rubrics)
        for id, rubric in rubrics:
            assert given(rubric) and all(points > 0 for points in given(rubric)), id
            assert rubric.count(r"\mistake{") >= 3, f"{id}: common wrong answers"


def test_steps_are_asked_with_their_points_and_checks():
    """Computed here again, without facts.py."""
    names, asked = facts.points(MANIFEST), re.findall(r"\\step\{(.*?)\}", STUDENTS)
    for id, question in MANIFEST.questions.items():
        mine = [check for check in MANIFEST.checks.values() if check.question == id]
        for step, title in enumerate(question.steps, start=1):
            worth = sum(check.points for check in mine if check.step == step)
            assert names[f"step {id}-{step} worth"].split()[0] == f"{worth:g}"
            assert names[f"step {id}-{step} name"] == f"Step {step}: {title}"
            listed = re.findall(r"\d\w-\d+", names[f"step {id}-{step} checks"])
            assert {f"{name}-basic" for name in listed} == {
                check.id for check in mine if check.step == step and check.kind == "basic"
            }
        coded = sum(check.points for check in mine if check.coded)
        assert not question.steps or coded == sum(check.points for check in mine if check.step)
    assert asked == [
        f"{id}-{step}"
        for id, question in MANIFEST.questions.items()
        for step in range(1, len(question.steps) + 1)
    ]


def test_every_question_is_asked_and_hints_lead_somewhere():
    asked = re.findall(r"\\begin\{question\}\{(\w+)\}", STUDENTS)
    assert sorted(asked) == sorted(MANIFEST.questions)
    hints = re.findall(r"\\begin\{hints\}\{(\w+)\}(.*?)\\end\{hints\}", STUDENTS, re.DOTALL)
    assert Counter(re.findall(r"\\seehints\{(\w+)\}", STUDENTS)) == Counter(id for id, _ in hints)
    for id, hint in hints:
        assert re.findall(r"\\(concept|procedure|direction)\b", hint) == [
            "concept",
            "procedure",
            "direction",
        ], id
    assert {id for id, _ in hints} >= {"1c", "1f", "1g", "1h", "3c", "4a"}


def test_students_get_no_answers(handout):
    secrets = known_secrets.gather_secrets()
    assert len(secrets.phrases) > 1000
    editions = {
        f"handout/{name}": (handout / name).read_bytes()
        for name in ("handout.pdf", "handout.html", "submission.pdf")
    }
    assert leaks.find_leaks(editions, secrets) == []


@pytest.mark.full
def test_staff_get_answers_and_rubrics(solutions):
    pdf = solutions / "solutions.pdf"
    secrets = known_secrets.gather_secrets()
    found = leaks.find_leaks({"handout/handout.pdf": pdf.read_bytes()}, secrets)
    assert any("worked answer" in leak for leak in found)
    shown = text_of(pdf)
    assert all(
        f"Rubric for {facts.points(MANIFEST)[f'check {id} name']} (" in shown for id in WRITTEN
    )
    texts = "".join(path.read_text(encoding="utf-8") for path in SOLUTIONS.glob("*.tex"))
    sums = {id: sum(given(rubric)) for id, rubric in RUBRIC.findall(texts)}
    changed = [id for id in sums if sums[id] != WRITTEN[id].points]
    assert shown.count("scale what lines give and take") == len(changed)


def test_the_course_is_on_the_front_page(tmp_path):
    settings = tmp_path / "course.toml"
    settings.write_text(Course("A & B_c", "CS 99%", "Friday, #1").as_toml(), encoding="utf-8")
    text = facts.as_tex(facts.gather(settings))
    assert (
        r"\setfact{title}{A \& B\_c}" in text
        and r"\setfact{course}{CS 99\%}" in text
        and r"\setfact{due}{Friday, \#1}" in text
    )
    settings.write_text("title = 3", encoding="utf-8")
    process = subprocess.run(
        [
            sys.executable,
            "-m",
            "instructor",
            "facts",
            str(tmp_path / "f.tex"),
            "--course",
            str(settings),
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    assert (
        process.returncode
        and "course.toml" in process.stderr
        and "Traceback" not in process.stderr
        and not (tmp_path / "f.tex").exists()
    )


@pytest.mark.full
def test_a_release_has_the_handout(handout, tmp_path):
    files = build_handout(read_course())
    assert {name: files[name] for name in ("handout.pdf", "handout.html")} == {
        name: (handout / name).read_bytes() for name in ("handout.pdf", "handout.html")
    }, "built twice, the same bytes"
    assert json.loads(files["pages.json"]) == pages(handout)
    assert files["submission.tex"] == (HANDOUT / "submission.tex").read_bytes()
    make_tree(tmp_path / "tree", Course("T"), handout=files)
    assert {path.name for path in (tmp_path / "tree" / "handout").iterdir()} == set(files)


def test_tools_that_are_missing_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="needs make, latexmk, pandoc, pdftotext.*--no-handout"):
        build_handout(Course("T"))


def test_make_says_the_same_in_both_dialects():
    """GNU make and BSD make would run the same commands."""
    tools = ("make", "bmake")
    require_tools(*tools)
    shown = [
        subprocess.run(
            [tool, "-n", "-B", "all"] if tool == "make" else [tool, "-n", "all"],
            cwd=HANDOUT,
            capture_output=True,
            encoding="utf-8",
        )
        for tool in tools
    ]
    assert all(process.returncode == 0 for process in shown) and all(
        "instructor facts" in process.stdout for process in shown
    ), shown


def test_the_numbers_of_problem_1_are_those_of_the_code(submission, tmp_path):
    """Hyperparameters from the reference's own functions; steps and parameters worked out."""
    text = SOURCES["problem1.tex"]
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("Where was Ada Byron born?\tLondon\n", encoding="utf-8")
    documents = submission.CharCorruptionDataset(
        "Ada Byron was born in London, wasn't she? Where else?\n" * 3, 80
    )
    config = submission.GPTConfig(documents.vocab_size, 80, n_layer=1, n_head=2, n_embd=8)
    model = submission.initialize_vanilla_model(config)
    weights = tmp_path / "weights.params"
    torch.save(model.state_dict(), weights)
    configs = [
        submission.finetune(path, corpus, documents, 80, model)[0] for path in (None, str(weights))
    ] + [submission.pretrain(documents, 80, model)[0]]
    row = {
        name: [
            cell.strip()
            for cell in re.search(rf"\\code\{{{name}\}} & (.*?) \\\\\n", text)[1].split("&")
        ]
        for name in ("max_epochs", "batch_size", "lr_decay", "warmup_tokens", "final_tokens")
    }
    for column, config in enumerate(configs):
        for name, cells in row.items():
            stated = cells[column].removeprefix(r"\code{").removesuffix("}")
            assert eval(stated, {"N": len(documents), "block_size": 80}) == getattr(config, name), (
                name,
                column,
            )

    counts = {}
    for preset in (LAPTOP, GPU):
        people = submission.CharCorruptionDataset(
            (ROOT / "data" / preset.data / "wiki.txt").read_text(encoding="utf-8"),
            preset.block_size,
        )
        for rope in (False, True):
            config = submission.GPTConfig(
                people.vocab_size,
                preset.block_size,
                n_layer=preset.n_layer,
                n_head=preset.n_head,
                n_embd=preset.n_embd,
                rope=rope,
            )
            counts[preset.name, rope] = sum(
                parameter.numel() for parameter in submission.GPT(config).parameters()
            )
        stage = preset.pretrain if preset is LAPTOP else configs[2]
        counts[preset.name] = stage.max_epochs * -(-len(people) // stage.batch_size)
    for size in ("laptop", "gpu"):
        assert (
            f"{counts[size, False]:,}; {counts[size, True]:,}" in text
            and f"{counts[size]:,}" in text
        ), counts
    rows = len(
        (ROOT / "data" / LAPTOP.data / "birth_places_train.tsv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    steps = [
        stage.max_epochs * -(-rows // stage.batch_size)
        for stage in (LAPTOP.finetune_from_scratch, LAPTOP.finetune_pretrained)
    ]
    assert f"Steps in all & {steps[0]} & {steps[1]} & {counts['laptop']:,}" in text


# What it names


def test_commands_are_there():
    """Targets of run.sh and ids of the grader."""
    text = STUDENTS.replace(r"\_", "_")
    for target in re.findall(r"\./run\.sh (\w+)", text):
        assert target in {*TARGETS, "all", "demo", "help", "TARGET"}, target
    for id in re.findall(r"grader\.py (\w[\w-]*)", text):
        known = {
            *MANIFEST.checks,
            *MANIFEST.questions,
            *(question[:-1] for question in MANIFEST.questions),
            "ID",
        }
        assert id in known, id
    for id in re.findall(r"\b\d[a-h]-\d+-(?:basic|hidden|written)\b", text):
        assert id in MANIFEST.checks, id
    known = "\n".join(
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("src/run.py", "src/grader.py", "src/collect.py", "src/submission/dataset.py")
    )
    for option in set(re.findall(r"(?<![\w-])--[a-z][\w-]+", re.sub(r"-{4,}", "", text))):
        assert option in known, option


def test_files_are_there():
    """Every path that the text names is in a release, or made by a job."""
    made = {*MADE_BY, "submission.zip", ".venv", "all.log"}
    there = {
        path.name for folder in ("src", "data", "handout") for path in (ROOT / folder).rglob("*")
    } | {path.name for path in ROOT.iterdir()}
    for name in re.findall(
        r"\\code\{([^} ]*?[\w/]\.(?:py|sh|tsv|txt|toml|yml|ipynb|bat|tex|json|params|"
        r"predictions))\}",
        STUDENTS,
    ):
        assert name.rsplit("/")[-1] in there | made, name
        if name.startswith(RELEASED):
            assert (ROOT / name).exists() or name.rsplit("/")[-1] in made, name


def test_the_readme_says_the_same():
    """Questions and jobs in the students' README are the manifest's and the handout's."""
    guide = (ROOT / "docs" / "students.md").read_text(encoding="utf-8")
    students = student_readme(guide, Course("T"), {"handout/handout.pdf"})
    asked = set(re.findall(r"^\| (\d[a-h]) \|", students, re.MULTILINE))
    assert {"1e", "5a", "6f"} <= asked <= set(MANIFEST.questions)
    assert (
        "handout/handout.pdf" in students
        and "handout/submission.tex" in students
        and "make -C" not in students
    )
    assert "handout" not in student_readme(guide, Course("T"), set())
    for target in set(re.findall(r"\b(?:vanilla|rope)_(?:pretrain|finetune|eval)\w*", students)):
        assert target in JOBS and target in SOURCES["problem1.tex"], target


# How it reads


def prose(tex):
    """The words outside commands, formulas and code."""
    for pattern in (
        r"(?s).*\\begin\{document\}",
        r"(?<!\\)%.*",
        r"(?s)\\begin\{(terminal|python)\}.*?\\end\{\1\}",
        r"(?s)\\begin\{((?:equation|align|gather)\*?)\}.*?\\end\{\1\}",
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
    texts = {
        name: prose(text)
        for name, text in SOURCES.items()
        if name not in ("macros.tex", "main.tex")
    }
    texts |= {
        f"solutions/{path.name}": prose(path.read_text(encoding="utf-8"))
        for path in SOLUTIONS.glob("*.tex")
    }
    own = set((HANDOUT / "words.txt").read_text(encoding="utf-8").split())
    wrong, used = {}, set()
    for name, text in texts.items():
        words = set(re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text))
        process = subprocess.run(
            ["hunspell", "-l", "-d", "en_US", "-i", "utf-8"],
            input="\n".join(sorted(words)),
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        unknown = {re.sub(r"['’]s$", "", word).casefold() for word in process.stdout.split()}
        used |= unknown & own
        if unknown - own:
            wrong[name] = sorted(unknown - own)
    assert not wrong, "mend these, or add them to handout/words.txt"
    assert own == used, "no longer needed in words.txt"


def links():
    """The external links of the texts."""
    papers = {f"https://arxiv.org/abs/{id}" for id in re.findall(r"\\paper\{(.*?)\}", STUDENTS)}
    return sorted(papers | set(re.findall(r"\\(?:href|url)\{(.*?)\}", STUDENTS)))


def test_links_are_well_formed_and_each_paper_has_one_name():
    named = {}
    for id, name in re.findall(r"\\paper\{(.*?)\}\{(.*?)\}", STUDENTS):
        assert re.fullmatch(r"\d{4}\.\d{4,5}", id), id
        named.setdefault(id, set()).add(name)
        year = int(re.search(r"(?:19|20)\d\d", name)[0])
        assert 0 <= year - (2000 + int(id[:2])) <= 2, f"{name}: {id} is of another year"
    assert all(len(names) == 1 for names in named.values()), named
    assert len(named) >= 8 and all(link.startswith("https://") for link in links())


def test_links_lead_somewhere():
    """Requested where the network can be reached; a missing page fails."""
    for number, link in enumerate(links()):
        request = urllib.request.Request(
            link, method="HEAD", headers={"User-Agent": "Mozilla/5.0 (link check)"}
        )
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except urllib.error.HTTPError as error:
            assert error.code not in (404, 410), link
        except OSError as error:
            if number == 0:
                pytest.skip(f"no way to {link}: {error}")
            raise
