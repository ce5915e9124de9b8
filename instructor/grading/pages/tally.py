"""The points of a person, question by question, before any penalty."""

from instructor.grading.grades import Entry, GradedClass


def by_question(graded: GradedClass, entry: Entry) -> dict[str, float | None]:
    """The points of every question of the manifest; None if checks are pending or nothing is
    graded. Points that staff added to the total belong to no question.
    """
    result = dict.fromkeys(graded.manifest.questions)
    given = entry.scores | entry.written
    for check in graded.manifest.checks.values():
        if check.id in given:
            result[check.question] = round((result[check.question] or 0) + given[check.id], 4)
    pending = {graded.manifest.checks[id].question for id in entry.pending}
    return result | dict.fromkeys(pending)


def unmarked(graded: GradedClass, entry: Entry) -> list[str]:
    """The ids of the written parts that have no points yet."""
    return [
        check.id
        for check in graded.manifest.checks.values()
        if not check.coded and check.id not in entry.written
    ]
