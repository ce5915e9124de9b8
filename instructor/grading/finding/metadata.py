"""The metadata of Gradescope's exports, a YAML file from outside: who handed in what, and when."""

import re
from pathlib import Path

METADATA = "submission_metadata.yml"
GRADESCOPE = re.compile(r"submission_\d+")  # a submission's folder
LARGEST_METADATA = 64 << 20  # bytes; larger ones are not read
DEEPEST = 50  # nested lists in it


def read_metadata(path: Path) -> dict[str, dict]:
    """The metadata of each submission, {folder: plain data}; what cannot be read is left out.

    Only YAML events are read, down to the depth that is needed: no tag makes an object, and no
    alias is expanded.
    """
    import yaml

    result = {}
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST_METADATA:
            return result
        with open(path, "rb") as file:
            events = yaml.parse(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            next(event for event in events if isinstance(event, yaml.MappingStartEvent))
            while isinstance(key := next(events), yaml.ScalarEvent):
                value = _plain_data(next(events), events, 3)
                if isinstance(value, dict):
                    result[key.value] = value
    except (OSError, ValueError, StopIteration, yaml.YAMLError):
        pass  # the folders are still found, and staff sees that their names identify nobody
    return {key: value for key, value in result.items() if GRADESCOPE.fullmatch(key)}


def _plain_data(event, events, depth):
    """The dict, list or string that an event begins; None for what is deeper than `depth`, and for
    aliases.
    """
    import yaml

    if isinstance(event, yaml.ScalarEvent):
        return None if not event.style and event.value in ("", "~", "null") else event.value
    if not isinstance(event, yaml.CollectionStartEvent):
        return None
    if not depth:
        level = 1
        while level:
            event = next(events)
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if level > DEEPEST:
                raise ValueError  # no export is this deep, and parsing it is slow
        return None
    values = []
    is_list = isinstance(event, yaml.SequenceStartEvent)
    while not isinstance(event := next(events), yaml.CollectionEndEvent):
        values.append(_plain_data(event, events, depth - 1))
    return (
        values
        if is_list
        else {key: value for key, value in zip(values[::2], values[1::2]) if isinstance(key, str)}
    )
