"""Read a corpus, and questions on it."""

from pathlib import Path

from common.files import UserError, read_text


def read_documents(path: Path) -> str:
    """Read a pretraining corpus, one document per line; returns its text without blank lines and
    the last newline.

    Raises:
        UserError: as read_text, or the corpus contains one of the two reserved characters.
    """
    text = read_text(path)
    for special in "\u2047\u25a1":
        if special in text:
            line = text[: text.index(special)].count("\n") + 1
            raise UserError(
                f"{path}, line {line}: {special!r} is reserved for masking and padding. Remove it."
            )
    return "\n".join(line for line in text.split("\n") if line.strip())


def read_questions(
    path: Path, stoi: dict, block_size: int, answers: bool
) -> list[tuple[str, str | None]]:
    """Read rows `question<TAB>place`, or only questions.

    Args:
        path: the file.
        stoi: the vocabulary; every character must be in it.
        block_size: a question, its place and their two MASKs must fit into block_size + 1
            characters.
        answers: whether every row must have a place. If not, the file may have them in all rows or
            in none.

    Raises:
        UserError: as read_text, or names the first row that is wrong.
    """
    rows = [
        (number, line)
        for number, line in enumerate(read_text(path).split("\n"), start=1)
        if line.strip()
    ]
    answers = answers or "\t" in rows[0][1]
    result = []
    for number, line in rows:
        where = f"{path}, line {number}"
        question, tab, place = line.partition("\t")
        if answers and not (tab and question.strip() and place.strip()):
            raise UserError(f"{where}: expected a question, a tab and a place, got {line[:60]!r}.")
        if line != line.strip():
            raise UserError(
                f"{where}: leading or trailing white space in {line[:60]!r}. Remove it."
            )
        if "\t" in place or (tab and not answers):
            raise UserError(f"{where}: one tab too many in {line[:60]!r}.")
        for ch in question + place:
            if ch not in stoi:
                raise UserError(
                    f"{where}: the character {ch!r} (U+{ord(ch):04X}) in {line[:60]!r} is not in "
                    "the pretraining corpus, so the model has no token for it. Use the files of "
                    "one corpus together."
                )
        if len(question) + len(place) + 2 > block_size + 1:
            raise UserError(
                f"{where}: {len(question) + len(place) + 2} characters with the two MASKs, but the "
                f"model reads only {block_size + 1}: {line[:60]!r}. Shorten the name, or use "
                "--preset gpu."
            )
        result.append((question, place if answers else None))
    return result
