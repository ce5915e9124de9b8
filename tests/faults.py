"""Faults that people make at command lines and in files. Each table: what somebody types, or writes
into a file (into a sheet, below its header), and the places that a message has to name.
"""

from autograder import read_manifest
from checks.support import session

CHECKS = read_manifest(session.MANIFEST).checks
PART = next(id for id, check in CHECKS.items() if not check.coded)
MOST, ADA = CHECKS[PART].points, f"ada,{PART},"
COHORT = "--cohort 987654321012"
TYPED = [
    ("grader 6d-99", "'6d-99'; 6d-9"),
    ("grader q1c", "'q1c'; 1c"),
    ("grader zzz", "'zzz'; --list"),
    ("grader 3", "3:; handout"),
    ("grader --next 3", "3:; handout"),
    ("grader 1f-6 --no-artifacts", "1f-6; --no-artifacts"),
    ("grader 5a --json used", "used; --json"),
    ("grader 1c-0-basic --summary nowhere/s.md", "nowhere; --summary"),
    ("grader --submission nowhere", "nowhere"),
    ("grader --submission used", "used"),
    ("grader --artifacts nowhere", "nowhere; --artifacts"),
    ("grader --data used", "--data; --preset"),
    ("grader --data used --preset laptop", "wiki.txt; --data"),
    ("grader --seed x", "--seed; 'x'"),
    ("grader --jsn x", "--jsn"),
    ("grader 5a --watch --debug", "--watch; --debug"),
    ("grader 5a --watch --submission zipped.zip", "--watch; zipped.zip"),
    ("run vanilla_pretrian", "'vanilla_pretrian'; vanilla_pretrain"),
    ("run zzz", "'zzz'"),
    ("run look --jobs 2", "--jobs; look"),
    ("run vanilla_pretrain --seed -1", "--seed; '-1'"),
    ("run vanilla_pretrain --sed 1", "--sed"),
    ("run vanilla_pretrain --preset tiny", "--preset; 'tiny'"),
    ("run --log test", "`test`"),
    ("run vanilla_pretrain --submission nowhere", "nowhere; --submission"),
    ("run vanilla_pretrain --data nowhere", "nowhere; --data"),
    ("collect --submission nowhere", "nowhere; --submission"),
    (
        "collect --submission class/ada",
        "class/ada; attention.py; rope.pretrain.params; --allow-missing",
    ),
    ("release used", "used"),
    ("release /", "/"),
    ("grade used/mine/x", "used/mine"),
    ("release file", "file"),
    ("release zipped", "zipped.zip"),
    ("release x.zip", "python -m instructor release x"),
    ("release none/x", "none"),
    (f"release x {COHORT}", "--cohort; --gold"),
    ("release x --gold g", "--cohort; --gold"),
    ("release x --cohort 7 --gold g", "--cohort"),
    (f"release x {COHORT} --gold x", "--gold; OUT"),
    (f"release x {COHORT} --gold x/g", "/x"),
    (f"release used/x {COHORT} --gold used", "used"),
    ("reference used", "used/rope.finetune.params"),
    ("latex x.tex --course used/mine", "used/mine"),
    ("latex x.tex --course nowhere", "nowhere"),
    ("world --seed 1 --out x --gold x/g", "--gold; --out"),
    ("gradescope a.tar", "a.tar"),
    ("gradescope a.zip --data used", "--data; --preset"),
    ("gradescope a.zip --seconds 1", "--seconds; '1'"),
    ("grade used/mine", "used/mine"),
    ("grade .", "settings.toml"),
    ("explain used ada", "used; grades.sqlite"),
    ("viva used", "used; grades.sqlite"),
    ("similar used", "used; grades.sqlite"),
    ("similar used --threshold 2", "--threshold; '2'"),
    ("gard used", "'gard'; grade"),
    ("grade", "CLASS"),
]
SETTINGS = [
    ('submissions = ["missing"]', "missing"),
    ('submissions = ["empty"]', "empty"),
    ('submissions = [".."]', "inside"),
    ('submissions = ["../class/ada"]', "class/ada"),
    ('submissions = ["../zipped.zip"]', "zipped.zip"),
    ('submissions = "class"', "submissions; 'class'"),
    ('due = "soon"', "due; 'soon'"),
    ('at = "2026-12-01"', "`at`"),
    ('roster = "nobody.csv"', "nobody.csv"),
    ("workers = 1.5", "workers; 1.5"),
    ("late_cap = 101", "late_cap; 101"),
    ("late_percent = true", "late_percent; True"),
    ('keep = "first"', "keep; 'first'; 'latest'"),
    ('apart = "no"', "apart; 'no'"),
    ('seed = "x"', "seed; 'x'"),
    ('gold = "nowhere"', "nowhere; gold"),
    ('dew = "2026-12-01"', "'dew'; due"),
    ("due = tomorrow", "line 1"),
]
COURSE = [
    ("title = 1", "title; 1"),
    ("title = 'a'\nassistants = 1", "assistants; 1"),
    ("title = ' '", "title"),
    ("course = 'x'", "title"),
    ("title = 'a'\nteacher = 'b'", "'teacher'"),
    ("title", "course.toml"),
    ('title = "a"\ndue = "two\\nlines"', "due"),
    ("title = 'a'\nproblems = 1", "problems; 1"),
    ("title = 'a'\nproblems = ['1']", "problems; '1'"),
    ("title = 'a'\ngiven = '1h'", "given; '1h'"),
    ("title = 'a'\nproblems = [5, 6]", 'given = ["1h"]; problem 1'),
    ("title = 'a'\nproblems = [6]", "6g; 1h"),
    ("title = 'a'\nproblems = [1, 9]", "problem 9"),
    ("title = 'a'\nproblems = [2, 3, 5]", "Problem 2; problem 1"),
    ("title = 'a'\nproblems = [3, 4]", "handout/README.md"),
    ("title = 'a'\nproblems = [1, 6]\ngiven = ['1h']", "1h"),
    ("title = 'a'\ngiven = ['1h']", "1h"),
]
MARKS = [
    (f"{ADA}1,\nad,{PART},1,\n", "'ad'; line 3"),
    ("ada,1c-0-basic,1,\n", "'1c-0-basic'; line 2"),
    *((f"{ADA}{n},\n", f"{n!r}; line 2") for n in ("good", "nan", "1e1", "٣")),
    *((f"{ADA}{n},\n", f"{n}; line 2; {MOST:g}") for n in ("-1", f"{MOST + 0.5:g}")),
    (f'{ADA}1,"two\nlines"\n\n{ADA}1,\n', f"{PART}; 'ada'"),
    (f"{ADA}1,so,so,so\n", "line 2"),
    (f'{ADA}1,\nben,{PART},1,"open\n', "line 3"),
    (f"{ADA}1,{'x' * 200_000}\n", "line 2"),
    (f"id,rubric,comment\n{ADA}\n".encode(), "'points'; line 1"),
    (f"id,rubric,points,Points\n{ADA}1,2\n".encode(), "'points'; line 1"),
    (b"id,rubric,points,comment\n\n\xfc", "line 3; UTF-8"),
    ("id,rubric,points".encode("utf-16-le"), "line 1"),
    ("id,rubric,points".encode("utf-16") + b"x", "UTF-16"),
    (b"PK\x03\x04", "eva.csv; CSV"),
    (b"", "'id'"),
]
OVERRIDES = [
    ("eve,1,,,,ill", "'eve'; line 2"),
    ("ada,1,,,,", "line 2; reason"),
    ("ada,,,,,why", "line 2"),
    ("ada,,,,x,why", "'x'; line 2"),
    ("ada,1.5,,,,why", "extension days; line 2"),
    ("ada,,maybe,,,why", "'maybe'; line 2"),
    ("ada,,,9z-0-basic,1,why", "'9z-0-basic'; line 2"),
    (f"ada,,,{PART},1,why", f"{PART}; line 2"),
    (",2,,,,ill", "line 2"),
    ("ada,,,5f-0-basic,99,why", "5f-0-basic; line 2; 0 to 1"),
    ("ada,1,,,,a\nada,2,,,,b", "overrides.csv; 'ada'"),
]
REQUESTS = [
    ("ada,5f-0-basic,why,1,", "line 2; answer"),
    ("ada,9z-0-basic,why,,", "'9z-0-basic'; line 2"),
]
ROSTER = [
    ("", "roster.csv; id, name"),
    ("id,name\n", "roster.csv; id, name"),
    ("color,size\n1,2\n", "roster.csv; id, name"),
    ("id,name\nada,Ann\n,Bob\n", "line 3; Bob"),
    ("id,name\nada,Ann\nb,Bob\nADA,Al\n", "line 4; 'ADA'; line 2"),
    ("Name,Email\nAda,\n", "line 2; Ada"),
    ("id,name\nada,J\udcf6rg\n", "line 2; UTF-8"),
    ("id,name\nu1,Cy Day\nu2,Eve\n", "Cy Day; ada"),
]
ENTRIES = [
    ('[questions.5a]\ntitle = "A"\npoints = 1\n', "5a"),
    ("[[check]]\nid = '5a'", "check 5a"),
    ("[questions", "manifest.toml"),
]
GRADE = "grade CLASS"
FILES = {  # a file: its table, and the words that read it
    "CLASS/settings.toml": (SETTINGS, GRADE),
    "CLASS/written/eva.csv": (MARKS, GRADE),
    "CLASS/written/eva.xlsx": ([(b"PK\x03\x04", "eva.xlsx; CSV")], GRADE),
    "CLASS/overrides.csv": (OVERRIDES, GRADE),
    "CLASS/requests.csv": (REQUESTS, GRADE),
    "roster.csv": (ROSTER, GRADE),
    "course.toml": (COURSE, "release x --no-proof --no-handout"),
    "manifest.toml": (ENTRIES, "grader 5a"),
}
# The words that are typed, a file and its content, and the places.
FAULTS = [(words, "file", "mine", places) for words, places in TYPED]
FAULTS += [(words, file, *row) for file, (table, words) in FILES.items() for row in table]
