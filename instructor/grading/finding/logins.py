"""Whose clone is whose: assignment-LOGIN, where both may have dashes."""

import re
from pathlib import PurePath

from .find import Found, called, clean
from .roster import Roster


def name_clones(found: list[Found], roster: Roster) -> list[Found]:
    """Name clones after people of the roster: by the prefix that makes most of them somebody's.

    The prefix is that of all clones that begin with it: else the clone hw5-ann-lee of somebody who
    is not in the roster would be that of `lee`, who is.
    """
    names = {_name(one) for one in found if one.repository}
    if not roster.people or not names:
        return found

    def is_somebodys(login):
        return bool(login) and roster.match(called(found[0], login))[0].enrolled

    rest, prefixes = names, []
    while rest:
        starts = {name[: dash.end()] for name in rest for dash in re.finditer("^|-", name)}
        known = {
            start: sum(is_somebodys(name[len(start) :]) for name in rest if name.startswith(start))
            for start in starts
        }
        best = max(starts, key=lambda start: (known[start], -len(start)))
        if not known[best]:
            break
        prefixes.append(best)
        rest = {name for name in rest if not name.startswith(best)}
    result = []
    for one in found:
        name = _name(one)
        start = next((start for start in prefixes if name.startswith(start)), "")
        stays = not one.repository and (not start or roster.match(one)[0].enrolled)
        result.append(one if stays else called(one, name.removeprefix(start) or name))
    return result


def _name(one):
    return clean(PurePath(one.label).name.removesuffix(".git"))
