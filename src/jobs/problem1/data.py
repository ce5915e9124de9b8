"""The files that the jobs read: the corpus, and the questions with their answers."""

from pathlib import Path

from common.files import UserError, read_text

SPLITS = {
    "train": "birth_places_train.tsv",
    "dev": "birth_dev.tsv",
    "test": "birth_test_inputs.tsv",
}
TEST_ANSWERS = "birth_test.tsv"


class Data:
    """A corpus, and the questions about it. Each file is checked when it is read.

    Args:
        folder: of all files, but for the answers of the test questions.
        block_size: of the model, into which questions must fit.
        gold: the folder of the answers of the test questions, if they are here.

    Attributes:
        corpus: the documents, one per line.

    Raises:
        UserError: the corpus is missing or unusable.
    """

    def __init__(self, folder: Path, block_size: int, gold: Path | None = None):
        self.folder, self.block_size, self.gold = folder, block_size, gold
        self.corpus = read_documents(folder / "wiki.txt")
        self.characters = {*self.corpus}

    def questions(self, split: str) -> list[tuple[str, str | None]]:
        """The questions of "train", "dev" or "test" with their places: None for all of test, if the
        answers are not here.

        Raises:
            UserError: the file is missing or unusable, or the answers are those of other questions.
        """
        path, is_test = self.folder / SPLITS[split], split == "test"
        rows = self._read(path, answers=not is_test)
        if not is_test or self.gold is None:
            return rows
        answered = self._read(self.gold / TEST_ANSWERS, answers=True)
        if [question for question, _ in answered] != [question for question, _ in rows]:
            raise UserError(
                f"{self.gold / TEST_ANSWERS} does not answer the questions of {path} in their "
                "order. Check --gold and --data."
            )
        return answered

    def _read(self, path, answers):
        """Read rows `question<TAB>place`, or only questions: all rows must have a place if
        `answers`, else all or none.
        """
        lines = enumerate(read_text(path).split("\n"), start=1)
        rows = [(number, line) for number, line in lines if line.strip()]
        answers, result = answers or "\t" in rows[0][1], []
        for number, line in rows:
            question, tab, place = line.partition("\t")
            shown, length = repr(line[:60]), len(question) + len(place) + 2
            unknown = [ch for ch in question + place if ch not in self.characters]
            why = ""
            if answers and not (tab and question.strip() and place.strip()):
                why = f"expected a question, a tab and a place, got {shown}."
            elif line != line.strip():
                why = f"leading or trailing white space in {shown}. Remove it."
            elif "\t" in place or (tab and not answers):
                why = f"one tab too many in {shown}."
            elif unknown:
                why = (
                    f"the character {unknown[0]!r} (U+{ord(unknown[0]):04X}) in {shown} is not in "
                    "the pretraining corpus, so the model has no token for it. Use the files of "
                    "one corpus together."
                )
            elif length > self.block_size + 1:
                why = (
                    f"{length} characters with the two MASKs, but the model reads only "
                    f"{self.block_size + 1}: {shown}. Shorten the name, or use --preset gpu."
                )
            if why:
                raise UserError(f"{path}, line {number}: {why}")
            result.append((question, place if answers else None))
        return result


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
