"""Import a submission for a job, and seed its random numbers."""

import contextlib
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
from jobs.deliverables import FOLDERS, STUDENT_FILES, SUPPLIED, has_code, look_alike, why_unusable
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
        if f"{name}.py" in SUPPLIED:
            return importlib.util.spec_from_file_location(fullname, STARTER / f"{name}.py")
        at_top = Path(sys.modules[package].__path__[0]) / f"{module.rpartition('.')[2]}.py"
        if f"{name}.py" in STUDENT_FILES and at_top.is_file():
            return importlib.util.spec_from_file_location(fullname, at_top)
        if name in FOLDERS:
            return importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        return None


def load_submission(folder: Path):
    """Import the package in `folder` as `submission`.

    Missing supplied files, including __init__.py, are taken from src/submission.

    Raises:
        UserError: there is no package there, or one of the student's files is missing, or has
            another name or encoding.
    """
    folder = folder.resolve()
    if not (folder / "__init__.py").is_file() and not has_code(folder):
        raise UserError(
            f"{folder} is not a submission: it has neither __init__.py nor any of the student's "
            f"files, such as {STUDENT_FILES[0]}{look_alike(folder, *STUDENT_FILES)}. Check "
            "--submission."
        )
    if not any(isinstance(finder, _GivenFiles) for finder in sys.meta_path):
        sys.meta_path.append(_GivenFiles())
    init = folder if (folder / "__init__.py").is_file() else STARTER
    for name in [name for name in sys.modules if name.split(".")[0] == "submission"]:
        del sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        "submission", init / "__init__.py", submodule_search_locations=[str(folder)]
    )
    package = sys.modules["submission"] = importlib.util.module_from_spec(spec)
    with _importing(folder):
        spec.loader.exec_module(package)
    return package


def load_module(folder: Path, name: str):
    """Import one file of a submission, named with its folder, and its package.

    Raises:
        UserError: it is missing, in its place and at the top.
    """
    load_submission(folder)
    with _importing(folder):
        return importlib.import_module(f"submission.{name.removesuffix('.py').replace('/', '.')}")


@contextlib.contextmanager
def _importing(folder):
    """Say which of the student's files is missing or cannot be used, if an import in the block
    fails.
    """
    try:
        yield
    except (ModuleNotFoundError, SyntaxError) as error:
        missing = str(getattr(error, "name", "")).removeprefix("submission.").replace(".", "/")
        if f"{missing}.py" in STUDENT_FILES:
            raise UserError(
                f"{folder} has no {missing}.py, which this job needs"
                f"{look_alike(folder, f'{missing}.py')}. Check --submission."
            ) from None
        for name in STUDENT_FILES:
            if why := why_unusable(folder, name):
                raise UserError(f"{folder}: {why}") from None
        raise


def seed_everything(seed: int) -> None:
    """Seed all random number generators that a submission may use."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
