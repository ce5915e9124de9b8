"""Grades put into Canvas by its API, against a small server that plays Canvas."""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

import pytest

from instructor import __main__
from instructor.grading import canvas
from instructor.grading.grades import Person
from instructor.grading.pages import gradebook
from tests.instructor.grading.sample_class import fail, make_class

TOKEN = "7~secret"


class Canvas(BaseHTTPRequestHandler):
    """Course 5 with assignment 7; a job is done when it is asked for the third time."""

    def do_GET(self):
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.headers_of_401 = [("WWW-Authenticate", 'Bearer realm="canvas-lms"')]
            return self.answer(401, {"errors": [{"message": "Invalid access token."}]})
        self.server.asked.append(self.path)
        state = self.server.state if self.server.asked.count(self.path) > 2 else "running"
        found = {
            "courses/5": {"id": 5, "name": "CS 101"},
            "courses/5/assignments/7": {
                "id": 7,
                "course_id": 5,
                "name": "HW 5",
                "points_possible": 1,
            },
            "progress/3": {
                "id": 3,
                "workflow_state": state,
                "message": "Couldn't find User '5003'",
            },
        }.get(self.path.removeprefix("/api/v1/"))
        return self.answer(200 if found else 404, found or {"errors": []})

    def do_POST(self):
        assert self.path == "/api/v1/courses/5/assignments/7/submissions/update_grades"
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.grades |= dict(parse_qsl(form))
        self.answer(200, {"id": 3, "workflow_state": "queued", "message": None})

    def answer(self, status, data):
        if self.server.page:
            status, data = 200, "<html>Log in</html>"
        self.send_response(status)
        for header in getattr(self, "headers_of_401", []):
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(json.dumps(data).encode() if not self.server.page else data.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("CANVAS_TOKEN", TOKEN)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(canvas, "PAUSE", 0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Canvas) as server:
        server.asked, server.grades, server.state, server.page = [], {}, "completed", False
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def graded(monkeypatch):
    """Six people: one excused, one who is still to be graded, a stranger, two known by SIS
    alone.
    """
    graded = make_class(6)
    for entry in graded.entries:
        entry.written = {}
        if entry.report:
            fail(entry.report, "1c-7-hidden", "passed", "")
    entries = graded.entries
    entries[0].excused = "illness"
    entries[1].pending = ["1c-0-basic"]
    entries[2].person = Person("guest", "A Guest", canvas_id="9", enrolled=False)
    entries[3].person = Person("a", "Ann", sis_id="u 1", sis_login="ann")
    entries[4].person = Person("b", "Bob", sis_login="bob@x.edu")
    entries[3].written = {"1g-0-written": 1.5}
    monkeypatch.setattr("instructor.grading.graded_class.load_class", lambda out: graded)
    return graded


def run(monkeypatch, url, *options):
    """The command, as a person gives it; returns its exit code."""
    argv = ["instructor", "canvas", "OUT", "--url", url, "--course", "5", "--assignment", "7"]
    monkeypatch.setattr(sys, "argv", [*argv, *options])
    return __main__.main()


def address(server):
    return f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def upload(monkeypatch, server, graded):
    pytest.importorskip("canvasapi")
    return lambda *options: run(monkeypatch, address(server), *options)


pytestmark = pytest.mark.filterwarnings("ignore:Canvas may respond unexpectedly")


def test_canvas_gets_what_grades_csv_holds(upload, server, graded, capsys):
    assert upload() == 0
    cells = [line.split(",")[-1] for line in gradebook.canvas(graded)[0].splitlines()[2:]]
    excused, pending, ann, bob, last = cells
    assert (excused, pending) == ("EX", "") and "." in ann and float(bob) >= 0
    key = f"grade_data[{graded.entries[5].person.canvas_id}][posted_grade]"
    assert server.grades == {
        f"grade_data[{graded.entries[0].person.canvas_id}][excuse]": "true",
        "grade_data[sis_user_id:u 1][posted_grade]": ann,
        "grade_data[sis_login_id:bob@x.edu][posted_grade]": bob,
        key: last,
    }
    assert server.asked.count("/api/v1/progress/3") == 3, "it did not wait for Canvas"
    said = capsys.readouterr().out
    assert "HW 5: 1 points in Canvas" in said and "4 grades entered, 1 of them EX" in said
    assert (
        f"Left out, without a grade yet or unknown to Canvas: {graded.entries[1].person.id}, guest."
        in said
    )


def test_a_dry_run_sends_nothing_and_shows_all(upload, server, graded, capsys):
    assert upload("--dry-run") == 0 and not server.grades
    said = capsys.readouterr().out
    number = graded.entries[0].person.canvas_id
    assert f"EX  {graded.entries[0].person.name} ({number})" in said
    assert "-  " + graded.entries[1].person.name in said and "A Guest (unknown to Canvas)" in said
    assert f"{gradebook.grade(graded.entries[3])}  Ann (sis_user_id:u 1)" in said
    assert TOKEN not in said and "entered" not in said


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda server, patch: patch.setenv("CANVAS_TOKEN", " "), "CANVAS_TOKEN is not set"),
        (lambda server, patch: patch.setenv("CANVAS_TOKEN", "x"), "Invalid access token.*Check"),
        (lambda server, patch: setattr(server, "state", "failed"), "Couldn't find User '5003'"),
        (lambda server, patch: setattr(server, "page", True), "is not Canvas"),
        (lambda server, patch: patch.setattr(canvas, "PATIENCE", -1), "still entering grades"),
        (lambda server, patch: patch.setitem(sys.modules, "canvasapi", None), "not installed"),
    ],
)
def test_what_goes_wrong_is_a_sentence(upload, server, monkeypatch, capsys, change, said):
    change(server, monkeypatch)
    assert upload() == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and TOKEN not in error
    assert re.search(said, error)


def test_a_wrong_course_a_wrong_address_and_no_network(upload, server, graded, monkeypatch, capsys):
    assert upload("--course", "6") == 2 == upload("--assignment", "8")
    error = capsys.readouterr().err
    assert "refuses course 6, assignment 7: Not Found" in error
    assert "refuses course 5, assignment 8: Not Found" in error
    assert (
        upload("--url", "http://canvas.example.edu") == 2 == upload("--url", "http://127.0.0.1:1")
    )
    error = capsys.readouterr().err
    assert "lacks https://" in error and "cannot be reached" in error and not server.grades


def test_two_people_of_one_number_are_refused(upload, server, graded, capsys):
    graded.entries[4].person = Person("b", "Bob", canvas_id=graded.entries[5].person.canvas_id)
    assert upload() == 2 and not server.grades
    assert "Two people in the roster" in capsys.readouterr().err
