"""The metadata of Gradescope's exports, a YAML file from outside: who handed in what, and when."""

from pathlib import Path

METADATA = "submission_metadata.yml"


def read_metadata(path: Path) -> dict:
    """The metadata as plain data; of a damaged file, what stands before the damage.

    Only YAML's events are read: no tag makes an object, and no alias is expanded.
    """
    import yaml

    waiting = [[]]  # the lists that are not complete; a mapping is one of keys and values
    try:
        with open(path, "rb") as file:
            for event in yaml.parse(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
                if isinstance(event, yaml.CollectionStartEvent):
                    waiting.append([])
                elif isinstance(event, yaml.CollectionEndEvent):
                    done = waiting.pop()
                    is_mapping = isinstance(event, yaml.MappingEndEvent)
                    waiting[-1].append(_mapping(done) if is_mapping else done)
                elif isinstance(event, yaml.ScalarEvent):
                    null = not event.style and event.value in ("", "~", "null")
                    waiting[-1].append(None if null else event.value)
                elif isinstance(event, yaml.AliasEvent):
                    waiting[-1].append(None)
    except (OSError, ValueError, yaml.YAMLError):
        pass  # the folders are still found, and staff see that their names identify nobody
    whole = _mapping(waiting[1]) if len(waiting) > 1 else next(iter(waiting[0]), None)
    return whole if isinstance(whole, dict) else {}


def _mapping(items):
    pairs = zip(items[::2], items[1::2])
    return {key: value for key, value in pairs if isinstance(key, str)}
