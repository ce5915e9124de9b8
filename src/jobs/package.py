"""Import a submission for a job, and seed its random numbers."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import random
import sys
from pathlib import Path

import numpy as np
import torch

from common.files import UserError
from jobs.deliverables import FOLDERS, GIVEN, STUDENT_FILES, has_code, look_alike, why_unusable
from jobs.options import STARTER


class _GivenFiles(importlib.abc.MetaPathFinder):
    """The last finder for a submission's modules: our copies of given files, and nothing else of
    ours. A folder that the submission lacks is an empty package, whose files may be at the top.
    """

    def find_spec(self, fullname, path, target=None):
        """See importlib."""
        package, _, module = fullname.partition(".")
        name = module.replace(".", "/")
        if package != "submission":
            return None
        if f"{name}.py" in GIVEN:
            return importlib.util.spec_from_file_location(fullname, STARTER / f"{name}.py")
        at_top = Path(sys.modules[package].__path__[0]) / f"{module.rpartition('.')[2]}.py"
        if f"{name}.py" in STUDENT_FILES and at_top.is_file():
            return importlib.util.spec_from_file_location(fullname, at_top)
        if name in FOLDERS:
            return importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        return None


def load_submission(folder: Path, name: str = ""):
    """Import the package in `folder` as `submission`. With the name of one of its files, as in
    STUDENT_FILES, import that, too, and return it instead.

    Missing supplied files, including __init__.py, are taken from src/submission.

    Raises:
        UserError: there is no package there, or one of the student's files is missing, or has
            another name or encoding.
    """
    folder = folder.resolve()
    init = folder / "__init__.py"
    if not init.is_file():
        init = STARTER / "__init__.py"
        if not has_code(folder):
            raise UserError(
                f"{folder} is not a submission: it has neither __init__.py nor any of the "
                f"student's files, such as {STUDENT_FILES[0]}"
                f"{look_alike(folder, *STUDENT_FILES)}. Check --submission."
            )
    if not any(isinstance(finder, _GivenFiles) for finder in sys.meta_path):
        sys.meta_path.append(_GivenFiles())
    for old in [old for old in sys.modules if old.split(".")[0] == "submission"]:
        del sys.modules[old]
    spec = importlib.util.spec_from_file_location(
        "submission", init, submodule_search_locations=[str(folder)]
    )
    package = sys.modules["submission"] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(package)
        if not name:
            return package
        return importlib.import_module(f"submission.{name.removesuffix('.py').replace('/', '.')}")
    except (ModuleNotFoundError, SyntaxError) as error:
        module = str(getattr(error, "name", "")).removeprefix("submission.")
        missing = module.replace(".", "/") + ".py"
        if missing in STUDENT_FILES:
            alike = look_alike(folder, missing)
            advice = "" if alike else " Copy it from the assignment, or check --submission."
            raise UserError(
                f"{folder} has no {missing}, which this job needs{alike}.{advice}"
            ) from None
        for file in STUDENT_FILES:
            if why := why_unusable(folder, file):
                raise UserError(f"{folder}: {why}") from None
        raise


def seed_everything(seed: int) -> None:
    """Seed all random number generators that a submission may use."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
