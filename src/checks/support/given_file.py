"""Reading a file that is handed in as data, such as choices.toml: what it holds, or a sentence on
why it holds nothing.
"""

from autograder import Answer, NotImplementedYet, WrongAnswer, probe


@probe
def file_content(name, parse):
    """For other probes to use: what `parse` makes of the bytes of a file of the submission, or why
    it holds nothing. A file that is too large has not been taken in the first place.
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
        return {"problem": "it is no UTF-8 text"}
    except RecursionError:
        return {"problem": "it is nested too deeply"}
    # what the format does not allow, and whole numbers of thousands of digits
    except ValueError as error:
        return {"problem": str(error)[:200]}


def read_content(student, probe, name: str, advice: str) -> Answer:
    """What a file holds.

    Args:
        probe: takes the `name`, and returns what file_content does.
        advice: on how the file is written, for a message about one that cannot be read.

    Raises:
        NotImplementedYet: there is no file.
        WrongAnswer: it cannot be read.
    """
    answer = student.run(probe, name=name).entries()
    if "missing" in answer:
        raise NotImplementedYet(f"{name} is missing.")
    if "problem" in answer or "content" not in answer:
        problem = answer["problem"].text() if "problem" in answer else "the reply is damaged"
        raise WrongAnswer(f"{name} cannot be read: {problem}. {advice}")
    return answer["content"].named(name)
