"""Known mistakes: patches of the solution, with a sentence for each, in a file a question.

The proof grades them, and a student whose code gives the same reads the sentence as likely cause.
"""

import functools
import importlib
import pkgutil


@functools.cache
def all_mistakes() -> list:
    """Every patches.Mistake, in the order of the files."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = (importlib.import_module(f"{__name__}.{name}") for name in modules)
    return [mistake for module in found for mistake in getattr(module, "MISTAKES", [])]
