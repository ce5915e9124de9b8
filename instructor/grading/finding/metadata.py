"""The metadata of Gradescope's exports, a YAML file from outside: who handed in what, and when."""

from datetime import datetime
from pathlib import Path

import yaml
from yaml.composer import Composer

from common.files import UserError
from instructor.grading.text import clean

from .late import read_time

METADATA = "submission_metadata.yml"
KEYS, NULL = (":email", ":sid", ":name"), ("~", "null")  # of a submitter


if hasattr(yaml, "CBaseLoader"):  # not where PyYAML was built without libyaml

    class Plain(Composer, yaml.CBaseLoader):
        """Makes texts, lists and mappings, whatever the tags, and copies nothing for an alias. Of
        yaml's two composers this one ends deep nesting with an exception, the other with a crash.
        """

        def __init__(self, file):
            yaml.CBaseLoader.__init__(self, file)
            Composer.__init__(self)

else:
    Plain = yaml.BaseLoader


def read_metadata(path: Path) -> dict[str, tuple[datetime | None, list[list[str]]]]:
    """When each submission was made, and the address, the number and the name of each who made it,
    "" if unknown; by the name of its folder. {} if there is no such file. What is odd about one
    submission leaves the others as they are.

    Raises:
        UserError: it is damaged.
    """
    found = {}
    if not path.exists():
        return found
    try:
        with open(path, "rb") as file:
            metadata = Plain(file).get_single_data()
        for name, about in metadata.items():
            about = about if isinstance(about, dict) else {}
            created = about.get(":created_at")  # text, or Ruby's form of a time with a zone
            if isinstance(created, dict):
                created = created.get("utc") or created.get("time")
            people = about.get(":submitters")
            people = people if isinstance(people, list) else []
            known = [person for person in people if isinstance(person, dict)]
            texts = [[_text(person.get(key)) for key in KEYS] for person in known]
            found[name] = read_time(created), texts
    except (AttributeError, OSError, RecursionError, TypeError, ValueError, yaml.YAMLError):
        raise UserError(f"{path} is not as Gradescope writes it. Export it again.") from None
    return found


def _text(value):
    return clean(value) if isinstance(value, str) and value not in NULL else ""
