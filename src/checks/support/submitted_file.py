"""Reads a submitted data file: its content, or why it cannot be read."""

from autograder import Answer, NotImplementedYet, WrongAnswer, probe


@probe
def file_content(name, parse):
    """For other probes: apply `parse` to the bytes of a file of the submission; return the result,
    or why it cannot be read. Files that are too large were rejected earlier.
    """
    import os

    import submission

    path = os.path.join(os.path.dirname(submission.__file__), name)
    if not os.path.isfile(path):
        return {"missing": True}
    with open(path, "rb") as file:
        data = file.read()
    try:
        return {"content": parse(data)}
    except UnicodeDecodeError:
        return {"problem": "it is not UTF-8 text"}
    except RecursionError:
        return {"problem": "it is nested too deeply"}
    # invalid content, and ints of thousands of digits
    except ValueError as error:
        return {"problem": str(error)[:200]}


def read_content(student, probe, name: str, advice: str) -> Answer:
    """Return a file's content.

    Args:
        probe: takes the `name`, and returns file_content's result.
        advice: on the file's format, for a message about one that cannot be read.

    Raises:
        NotImplementedYet: there is no file.
        WrongAnswer: it cannot be read.
    """
    answer = student.run(probe, name=name).entries()
    if "missing" in answer:
        if name in student.submission.unusable:
            raise WrongAnswer(student.submission.unusable[name])
        raise NotImplementedYet(f"{name} is missing.")
    if "problem" in answer or "content" not in answer:
        problem = answer["problem"].text() if "problem" in answer else "the reply is damaged"
        raise WrongAnswer(f"{name} cannot be read: {problem}. {advice}")
    return answer["content"].named(name)
