"""The metadata of Gradescope's exports, a YAML file from outside: who handed in what, and when."""

from datetime import datetime
from pathlib import Path

import yaml
from yaml.composer import Composer

from common.files import UserError
from instructor.grading.text import clean

from .late import read_time

METADATA = "submission_metadata.yml"
KEYS = (":email", ":sid", ":name")  # of a submitter


class _Plain(Composer, yaml.CBaseLoader):
    """Makes texts, lists and mappings, whatever the tags, and copies nothing for an alias. Of
    yaml's two composers this one ends deep nesting with an exception, the other one with a crash.
    """

    def __init__(self, file):
        yaml.CBaseLoader.__init__(self, file)
        Composer.__init__(self)


def read_metadata(path: Path) -> dict[str, tuple[datetime | None, list[tuple[str, ...]]]]:
    """When each submission was made, and who made it: their address, number and name, where they
    are known; by the name of its folder. {} if there is no such file.

    Raises:
        UserError: it is damaged.
    """
    found = {}
    if not path.exists():
        return found
    try:
        with open(path, "rb") as file:
            metadata = _Plain(file).get_single_data()
        for name, about in metadata.items():
            created = about.get(":created_at")  # text, or Ruby's form of a time with a zone
            created = created.get("utc") if isinstance(created, dict) else created
            people = [
                tuple(
                    "" if person.get(key) in ("~", "null") else clean(person.get(key, ""))
                    for key in KEYS
                )
                for person in about.get(":submitters", [])
            ]
            found[name] = read_time(created), people
    except (
        AttributeError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
        yaml.YAMLError,
    ) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}," if mark else f"{path}"
        raise UserError(f"{where} is not as Gradescope writes it. Export it again.") from None
    return found
