"""A submission's subfolders: files in those that are named are taken, nothing else is."""

import zipfile

import pytest

from autograder.intake import Refused, take

WANTED = {"a.py": 100, "part/b.py": 100, "part/c.json": 100, "other/d.py": 100}
FOLDERS = ("other", "part")
FILES = {
    "a.py": b"1",
    "part/b.py": b"22",
    "part/a.py": b"not wanted here",
    "part/deeper/b.py": b"too deep",
    "b.py": b"not wanted at the top",
    "unknown/e.py": b"not wanted",
}


def as_folder(tmp_path, files=FILES, inside=""):
    source = tmp_path / "source"
    for name, content in files.items():
        path = source / inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return source


def as_zip(tmp_path, files=FILES, inside=""):
    source = tmp_path / "source.zip"
    with zipfile.ZipFile(source, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{inside}{name}", content)
    return source


def taken(source, tmp_path):
    into = tmp_path / "taken"
    take(source, into, WANTED, folders=FOLDERS)
    return {
        path.relative_to(into).as_posix(): path.read_bytes()
        for path in into.rglob("*")
        if path.is_file()
    }, sorted(path.name for path in into.iterdir() if path.is_dir())


@pytest.mark.parametrize("make", [as_folder, as_zip])
def test_wanted_files_keep_their_folders(tmp_path, make):
    files, folders = taken(make(tmp_path), tmp_path)
    assert files == {"a.py": b"1", "part/b.py": b"22"}
    assert folders == ["part"]  # none that is empty


def test_a_zip_may_have_all_of_it_in_one_folder(tmp_path):
    files, _ = taken(as_zip(tmp_path, {"a.py": b"1", "part/b.py": b"22"}, "mine/"), tmp_path)
    assert files == {"a.py": b"1", "part/b.py": b"22"}


def test_a_link_in_place_of_a_folder_is_refused(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "b.py").write_text("secret = 1\n", encoding="utf-8")
    source = as_folder(tmp_path, {"a.py": b"1"})
    (source / "part").symlink_to(elsewhere)
    with pytest.raises(Refused, match="part in source is not a folder"):
        taken(source, tmp_path)
    assert not (tmp_path / "taken").exists()


def test_a_link_in_a_folder_is_refused(tmp_path):
    source = as_folder(tmp_path, {"a.py": b"1", "part/c.json": b"{}"})
    (source / "part" / "b.py").symlink_to(source / "a.py")
    with pytest.raises(Refused, match="b.py"):
        taken(source, tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": b"1", "part": b"a file of a folder's name"},
        {"a.py": b"1", "part/b.py": b"1", "Part/b.py": b"2"},
        {"a.py": b"1", "part/b.py/../b.py": b"2"},
        {"a.py": b"1", "part/../../b.py": b"2"},
    ],
)
def test_odd_names_in_a_zip_take_nothing_from_elsewhere(tmp_path, files):
    try:
        found, _ = taken(as_zip(tmp_path, files), tmp_path)
    except Refused:
        assert not (tmp_path / "taken").exists()
    else:
        assert found.items() <= files.items()
    assert {path.name for path in tmp_path.iterdir()} <= {"source.zip", "taken"}
