"""A release as a template repository: what a Git host runs on each push, and what is committed."""

import json
import os
import re
import shlex
import subprocess

import pytest
import yaml

import grader
from collect import DELIVERABLES
from helpers import ROOT, call
from instructor.course import Course
from instructor.release import build
from jobs.targets import JOBS, MADE_BY, TARGETS


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository with the files of a release, all of them added."""
    tree = tmp_path_factory.mktemp("release") / "tree"
    build.write_tree(build.release_files(Course("A title"), {}), tree)
    git(tree, "init", "-q")
    git(tree, "add", "--all")
    return tree


def git(tree, *words):
    """What git prints without the user's own settings, by which it may ignore more."""
    settings = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(
        ["git", *words], cwd=tree, env=os.environ | settings, capture_output=True, encoding="utf-8"
    ).stdout


def ignored(tree, *names):
    """Those of the names that git would not add."""
    return git(tree, "check-ignore", "--no-index", *names).split()


@pytest.fixture(scope="module")
def workflow(repository):
    return yaml.safe_load((repository / build.WORKFLOW).read_text(encoding="utf-8"))


def test_the_workflow_has_few_rights_and_an_end(workflow, repository):
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert 0 < job["timeout-minutes"] <= 30 and workflow["concurrency"]["cancel-in-progress"]
    uses = [step for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in uses)
    assert uses[0]["with"] == {"persist-credentials": False}
    assert {"push", "workflow_dispatch"} == workflow[True].keys(), "`on` is true in YAML 1.1"
    named = [path.removesuffix("/**") for path in workflow[True]["push"]["paths"]]
    named += [step["with"]["cache-dependency-path"] for step in uses if "cache" in step["with"]]
    assert all((repository / name).exists() for name in named) and "src" in named


@pytest.mark.usefixtures("warm")
def test_the_workflows_command_works(workflow, repository, tmp_path):
    (job,) = workflow["jobs"].values()
    (line,) = (step["run"] for step in job["steps"] if "run" in step)
    words = shlex.split(line.replace("$GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md")))
    assert words[:4] == ["bash", "run.sh", "python", "src/grader.py"]
    starter = repository / "src" / "submission"
    process = call(grader.main, *words[4:], "5a", "--submission", starter, cwd=repository)
    assert process.returncode == 0, process.stdout
    assert "## Points: 0 of" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_editors_show_the_checks_and_find_the_environment(repository):
    settings, container = (
        json.loads((repository / name).read_text(encoding="utf-8"))
        for name in (".vscode/settings.json", ".devcontainer/devcontainer.json")
    )
    (folder,) = settings["python.testing.pytestArgs"]
    assert (repository / folder / "conftest.py").is_file()
    assert settings["python.defaultInterpreterPath"].endswith("/.venv")
    assert container["postCreateCommand"].split()[0] == "./run.sh"


def test_what_is_released_and_handed_in_is_committed(repository):
    assert git(repository, "ls-files", "README.md") and not git(repository, "ls-files", "--others")
    records = [f"runs/{job.writes}.json" for job in JOBS.values()]
    names = [f"src/submission/{name}" for name in (*DELIVERABLES, *records)]
    names += ["handout/submission.pdf", "handout/submission.tex"]
    assert ignored(repository, *names) == []


MADE = """
    submission.zip .venv .venv.lock .venv.old/complete src/run/__pycache__/a.pyc
    src/submission/vanilla.pretrain.ckpt src/submission/runs/vanilla.pretrain.ckpt.json
    src/submission/runs/vanilla_pretrain.log src/submission/a.params.tmp demo/x
    elsewhere/vanilla.model.params results-of-my-copy/a.log kept/gpu/a.params for_gpu.zip
    results-gpu.zip all.log slurm-12.log nohup.out
"""


def test_what_is_made_and_not_handed_in_is_ignored(repository):
    names = [target.writes for target in TARGETS.values() if target.writes]
    names = [f"src/submission/{name}" for name in names if name.split("/")[-1] not in MADE_BY]
    names += MADE.split()
    assert ignored(repository, *names) == names


def test_line_ends_are_the_same_on_all_systems(repository):
    ours = (ROOT / ".gitattributes").read_text(encoding="utf-8")
    assert (repository / ".gitattributes").read_text(encoding="utf-8") == ours
    told = git(repository, "check-attr", "eol", "run.sh", "collect_submission.bat")
    assert told == "run.sh: eol: lf\ncollect_submission.bat: eol: crlf\n"
