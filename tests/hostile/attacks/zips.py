"""Zip files that attack unpacking. tests/engine/test_intake.py has many more; these run the whole
grading.
"""

import io
import zipfile

from hostile.attack import Hostile
from hostile.harness import ZIP


def handed_in(name, tries, write, seen="The whole submission is refused."):
    """Make an attack by a zip file; `write` adds to one with a right submission: (archive, names of
    places).
    """

    def prepare(folder, places):
        with zipfile.ZipFile(folder / ZIP, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in folder.glob("*.py"):
                archive.write(path, path.name)
            write(archive, places)

    return Hostile(
        name,
        tries,
        seen,
        prepare=prepare,
        changes=(),
        refused=True,
        everywhere=False,
        sandbox=False,
    )


def link(archive, places):
    """Add a symbolic link to the answers."""
    entry = zipfile.ZipInfo("extra.py")
    entry.create_system, entry.external_attr = 3, 0o120777 << 16
    archive.writestr(entry, places["GOLD"] + "/canary.py")


def inside_a_zip(archive, places):
    """Add another zip, named like a module, with a thousand names."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as inner:
        for number in range(1000):
            inner.writestr(f"{number}/../" * 40 + "x", "")
    archive.writestr("a.py", stream.getvalue() * 20)


HOSTILE = [
    handed_in(
        "zip-climbs-out",
        "Hands in a zip with names that lead out of the folder that it is unpacked into.",
        lambda archive, places: archive.writestr(
            f"../../../..{places['ROOT']}/src/{places['MARK']}.py", "x"
        ),
    ),
    handed_in("zip-with-link", "Hands in a zip with a link to the answers.", link),
    handed_in(
        "zip-that-writes",
        "Hands in a zip with terminal escapes and bidirectional text in its names.",
        lambda archive, places: archive.writestr("\x1b[2J\u202ey\x07.py", "x"),
    ),
    handed_in(
        "zip-in-a-zip", "Hands in a zip with another one in it, called as a module.", inside_a_zip
    ),
    handed_in(
        "zip-of-two-minds",
        "Hands in a zip with the same name twice, so that two readers see different programs.",
        lambda archive, places: archive.writestr("DATASET.py", "x"),
    ),
]
