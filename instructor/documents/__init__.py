"""`python -m instructor documents`: updates what documents repeat from code, data and results.

facts.py              points, titles, sizes and accuracies, by name
numbers.py            the numbers in worked answers and in the handout's examples, computed
tables.py             the generated parts of README.md and docs/*.md
site.py               docs/site: the handout and a page of feedback
"""

import argparse
import sys


def run(args: argparse.Namespace) -> int:
    """Update everything, or report what is stale; returns the exit code.

    Raises:
        UserError: a tool for the handout is missing, or no isolation level works.
    """
    from . import site, tables

    stale = tables.find_stale()
    if not args.check:
        tables.write()  # first: these need no TeX
    pages = site.make_pages()
    stale_pages = site.find_stale(pages)
    stale += [f"docs/site/{name}" for name in stale_pages]
    if args.check:
        if stale:
            print("\n".join(stale))
            print("\nTo update them: python -m instructor documents", file=sys.stderr)
            return 1
        print("Documents and docs/site are up to date.")
        return 0
    site.write({name: pages[name] for name in stale_pages})
    print("\n".join(f"Updated {name}" for name in stale) or "Everything was up to date.")
    return 0
