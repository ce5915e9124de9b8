"""The handout's LaTeX sources, with the commands of ../macros.tex replaced by LaTeX that pandoc
supports.
"""

import re
from pathlib import Path

from common.files import UserError, read_text
from instructor.documents.facts import escape

COMMANDS = Path(__file__).with_name("commands.tex")
VERBATIM = ("terminal", "python")
MATH = ("equation*", "equation", "align*", "align", "gather*", "gather", "multline*")
LISTS = ("itemize", "enumerate", "description")
NO_SENSE = {
    "eqref": "\\ref to a figure or section, or words",
    "pageref": "\\ref, \\q or words",
    "autoref": "\\ref",
    "withsolutions": "nothing of it: the HTML edition has no solutions",
    "verb": "\\code",
    "verb*": "\\code",
    "verbatim": "terminal or python",
    "Verbatim": "terminal or python",
    "lstlisting": "terminal or python",
}
TOKEN = re.compile(
    r"""%[^\n]*(?:\n[ \t]*)?             # a comment, with the line's end
    | \\\(.*?\\\) | \\\[.*?\\\] | \$\$.*?\$\$ | \$(?:[^$\\]|\\.)*\$         # mathematics
    | \\begin\{(?P<raw>NAMES)\}(?P<inside>.*?)\\end\{(?P=raw)\}
    | \\(?P<edge>begin|end)\{(?P<environment>[^}]*)\}
    | \\cmidrule(?:\([lr]+\))?\{[^}]*\}         # pandoc would treat it as a cell
    | \\(?P<command>[A-Za-z]+\*?|.)""".replace("NAMES", "|".join(map(re.escape, VERBATIM + MATH))),
    re.VERBOSE | re.DOTALL,
)


class Sources:
    """The sources in a folder.

    Args:
        folder: the folder of the sources.
        facts: the facts of facts.py.
    """

    def __init__(self, folder: Path, facts: dict[str, str]):
        self.folder, self.facts = folder, facts
        self.texts: dict[str, str] = {}  # file -> its text, in reading order
        self.where = COMMANDS.name
        self.problem = ""  # the current problem's number
        self.figures = self.sections = 0
        self.appendix = False
        self.number = ""  # what a \ref to a \label here prints
        self.numbers: dict[str, str] = {}  # label -> its number
        self.commands: dict[str, tuple] = {}  # name -> number of arguments, body
        self.environments: dict[str, tuple] = {}  # name -> number of arguments, begin, end
        text = read_text(COMMANDS)
        definition = r"(?m)^\\new(command|environment)\{\\?(\w+)\}(?:\[(\d)\])?"
        for match in re.finditer(definition, text):
            kept, bodies = (self.commands, 1) if match[1] == "command" else (self.environments, 2)
            values, _ = self._arguments(text, match.end(), bodies, match[2])
            kept[match[2]] = (int(match[3] or 0), *values)

    def read(self) -> str:
        """The whole handout, as LaTeX for pandoc.

        Raises:
            UserError: something in it makes no sense in the HTML edition; the message names file
                and line.
        """
        text = self._tex_input("main")

        def number(match):
            if not self.numbers.get(match[1]):
                raise UserError(
                    f"{match[2]}: \\ref{{{match[1]}}} names nothing that has a number. Correct it, "
                    "or use \\hyperref."
                )
            return self.numbers[match[1]]

        return re.sub("\0(.*?)\0(.*?)\0", number, text)

    def find(self, what: str) -> str:
        """The file and line where something first occurs in the sources."""
        for name, text in self.texts.items():
            if what in text:
                return f"{name}, line {text[: text.index(what)].count(chr(10)) + 1}"
        return COMMANDS.name

    def _replace(self, text: str, name: str | None = None) -> str:
        """The text with our commands replaced. `name` is its file, or None within another text."""
        result, position = [], 0
        while match := TOKEN.search(text, position):
            result.append(text[position : match.start()])
            if name:
                self.where = f"{name}, line {text.count(chr(10), 0, match.start()) + 1}"
            position = match.end()
            if match["edge"]:
                new, position = self._environment(match, text, position)
            elif match["raw"] in VERBATIM:
                inside = re.sub(r"^\[[^\]\n]*\]", "", match["inside"])
                box = f"edition-{match['raw']}"
                new = f"\\begin{{{box}}}\\begin{{verbatim}}{inside}\\end{{verbatim}}\\end{{{box}}}"
            elif match["command"]:
                new, position = self._command(match["command"], text, position)
            elif match[0].startswith(("%", "\\cmidrule")):
                new = ""
            else:
                if "\\label" in match[0]:
                    raise self._error(
                        "equations have no numbers in the HTML edition, so they take no \\label. "
                        "Name the equation in words."
                    )
                new = re.sub(r"\\fact\{([^}]*)\}", lambda fact: self._tex_fact(fact[1]), match[0])
            result.append(new)
        return "".join(result) + text[position:]

    def _environment(self, match: re.Match, text: str, position: int) -> tuple[str, int]:
        r"""The replacement of \begin{...} or \end{...}, and the position after it."""
        name = match["environment"]
        if name in NO_SENSE:
            raise self._error(
                f"the environment {name} has no sense in the HTML edition. Use {NO_SENSE[name]}."
            )
        if name in self.environments:
            number, begin, end = self.environments[name]
            if match["edge"] == "end":
                return self._replace(end), position
            values, position = self._arguments(text, position, number, name)
            return self._fill(begin, values), position
        options = re.compile(r"\[([^\]]*)\]").match(text, position) if name in LISTS else None
        if not options:
            return match[0], position
        kinds = {"roman": "i", "Roman": "I", "alph": "a", "Alph": "A", "arabic": "1"}
        label = re.search(rf"label=\{{?([^,\\]*)\\({'|'.join(kinds)})\*([^,}}]*)", options[1])
        style = f"[{label[1]}{kinds[label[2]]}{label[3]}]" if label else ""
        return match[0] + style, options.end()

    def _command(self, name: str, text: str, position: int) -> tuple[str, int]:
        """The replacement of a command, and the position after it. Unknown commands are left to
        pandoc.
        """
        if name in NO_SENSE:
            raise self._error(f"\\{name} has no sense in the HTML edition. Use {NO_SENSE[name]}.")
        if name in self.commands:
            number, body = self.commands[name]
            values, position = self._arguments(text, position, number, name)
            self.problem = values[0] if name == "problem" else self.problem
            return self._fill(body, values), position
        if name == "appendix":
            self.appendix, self.sections = True, 0
            return "", position
        if name == "hyperref" and text[position] == "[":
            end = text.index("]", position)
            return f"\\hyperref[{_id(text[position + 1 : end])}]", end + 1
        method = getattr(self, f"_tex_{name}", None)
        if not method:
            return "\\" + name, position
        number = method.__code__.co_argcount - 1  # without self
        values, position = self._arguments(text, position, number, name)
        return method(*values), position

    def _arguments(self, text: str, position: int, number: int, name: str) -> tuple[list[str], int]:
        """The next `number` groups in braces, and the position after them."""
        values = []
        for _ in range(number):
            brace = re.compile(r"(?:\s|%[^\n]*\n)*\{").match(text, position)
            depth, position = 1, brace.end() if brace else len(text)
            start = position
            while depth and position < len(text):
                depth += {"{": 1, "}": -1}.get(text[position], 0)
                position += 2 if text[position] == "\\" else 1
            if depth:
                raise self._error(
                    f"{name} takes {number} argument{'s' * (number > 1)} in braces. Write them, "
                    "and close their braces."
                )
            values.append(text[start : position - 1])
        return values, position

    def _fill(self, body: str, values: list[str]) -> str:
        """The expansion of a command of commands.tex. #0 is the problem's number."""
        return self._replace(
            re.sub(r"#(\d)", lambda match: [self.problem, *values][int(match[1])], body)
        )

    def _tex_fact(self, key: str) -> str:
        if key not in self.facts:
            raise self._error(f"there is no fact {key!r}. Correct the name, or add it to facts.py.")
        return escape(self.facts[key])

    def _tex_iffact(self, key: str, there: str, otherwise: str) -> str:
        return self._replace(there if self.facts.get(key) else otherwise)

    def _tex_ifproblem(self, number: str, there: str, otherwise: str) -> str:
        return self._tex_iffact(f"problem {number} chosen", there, otherwise)

    def _tex_code(self, text: str) -> str:
        return next(f"\\verb{mark}{text}{mark}" for mark in "|!+;@" if mark not in text)

    def _tex_input(self, name: str) -> str:
        """The text of a file; of main.tex, only its document."""
        path = self.folder / (name if name.endswith(".tex") else name + ".tex")
        if not path.exists():
            raise self._error(f"{path} does not exist. Correct the \\input.")
        text = self.texts[path.name] = read_text(path)
        before, begin, document = text.partition("\\begin{document}")
        if begin:  # blank lines replace the preamble, so that line numbers are right
            text = "\n" * before.count("\n") + document.partition("\\end{document}")[0]
        outer = self.where
        text = self._replace(text, path.name)
        self.where = outer
        return text

    def _tex_section(self, title: str) -> str:
        self.sections += 1
        self.number = chr(64 + self.sections) if self.appendix else str(self.sections)
        return f"\\section*{{{'Appendix ' * self.appendix}{self.number}: {self._replace(title)}}}"

    def _tex_label(self, label: str) -> str:
        self.numbers[label] = self.number
        return f"\\label{{{_id(label)}}}"

    def _tex_ref(self, label: str) -> str:
        # filled in by `read`, when all are known
        return f"\\hyperref[{_id(label)}]{{\0{label}\0{self.where}\0}}"

    def _tex_pic(self, name: str, caption: str, words: str) -> str:
        self.figures += 1
        self.numbers[f"fig:{name}"] = str(self.figures)
        texts = f"{self._replace(words)}\n\n{self._replace(caption)}"
        name = f"\\verb|{name}|\n\n{self.figures}"
        return f"\\begin{{edition-pic}}{name}\n\n{texts}\\end{{edition-pic}}"

    def _error(self, text: str) -> UserError:
        return UserError(f"{self.where}: {text}")


def _id(label: str) -> str:
    """The id of a label in the page."""
    return label.replace(":", "-")
