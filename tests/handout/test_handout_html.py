"""The handout's HTML edition: nothing is lost from the LaTeX sources, and it works on phones and
screen readers.
"""

import base64
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from html.parser import HTMLParser
from io import BytesIO

import pytest
from fontTools.ttLib import TTFont

from autograder.manifest import read_manifest
from common.files import UserError
from conftest import ROOT, require_tools
from handout.html import convert

HANDOUT = ROOT / "handout"
MANIFEST = read_manifest(ROOT / "src" / "checks" / "manifest.toml")
VOID = {"meta", "img", "br", "hr", "link", "input", "col", "mspace"}
FACTS = {
    "title": "A & <B>",
    "question 1c name": "1(c)",
    "question 1c title": "Spans",
    "question 1c worth": "2 points, coded",
    "question 1a name": "1(a)",
    "question 1a worth": "not graded",
    "problem 1 worth": "2 points",
    "check 1c-0-written part": "i",
    "check 1c-0-written worth": "1 point",
    "share": "10%",
    "heads": "8",
    "nothing": "",
}


class Element:
    """An element with its children, elements and texts."""

    def __init__(self, tag, attributes=()):
        self.tag, self.attributes, self.content = tag, dict(attributes), []

    def __getitem__(self, name):
        return self.attributes.get(name)

    def all(self, *tags):
        """The elements in it, at any depth, in order."""
        for part in self.content:
            if isinstance(part, Element):
                if part.tag in tags or not tags:
                    yield part
                yield from part.all(*tags)

    def text(self, *without):
        """The text in it, except in some elements."""
        parts = (
            part
            if isinstance(part, str)
            else part.text(*without)
            if part.tag not in without
            else " "
            for part in self.content
        )
        return "".join(parts)

    def words(self, *without):
        return " ".join(self.text(*without).split())


class Tree(HTMLParser):
    """Parses a page; every element must be closed."""

    def __init__(self, html):
        super().__init__()
        self.root = Element("page")
        self.open = [self.root]
        self.feed(html)
        assert self.open == [self.root]

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        element = Element(tag, attributes)
        self.open[-1].content.append(element)
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if tag not in VOID and self.open[-1].tag == tag:
            self.open.pop()
        else:
            assert tag in VOID, f"</{tag}> in {self.open[-1].tag}"

    def handle_data(self, data):
        self.open[-1].content.append(data)


@pytest.fixture(scope="module")
def html(handout):
    return (handout / "handout.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Tree(html).root


@pytest.fixture(scope="module")
def sources():
    """What main.tex includes, without comments."""
    names = re.findall(
        r"^\\input\{(\w+)\}",
        (HANDOUT / "main.tex").read_text(encoding="utf-8").partition(r"\begin{document}")[2],
        re.MULTILINE,
    )
    text = "\n".join((HANDOUT / f"{name}.tex").read_text(encoding="utf-8") for name in names)
    return re.sub(
        r"(\\begin\{(terminal|python)\}.*?\\end\{\2\})|(?<!\\)%[^\n]*", r"\1", text, flags=re.DOTALL
    )


# The handout's page


def test_it_is_one_file_that_needs_nothing(page, html):
    assert not list(page.all("link", "iframe", "object", "form", "input")) and not re.search(
        r"@import|url\((?!data:font/woff;)|\son\w+=", html
    )
    (script,) = page.all("script")
    assert not script.attributes and not re.search(
        r"\b(?:import|fetch|eval)\b|XMLHttp|WebSocket|https?:(?!//www.w3.org/)", script.text()
    )
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in page.all("img"))
    assert all(re.match(r"#|https://", link["href"]) for link in page.all("a"))
    assert (
        "prefers-color-scheme: dark" in html
        and "@media print" in html
        and 'name="viewport"' in html
    )


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = Counter(element["id"] for element in page.all() if element["id"])
    assert set(ids.values()) == {1}
    assert {link["href"][1:] for link in page.all("a") if link["href"].startswith("#")} <= set(ids)
    assert all(link.words() for link in page.all("a"))


def test_headings_and_landmarks(page):
    assert (
        next(page.all("html"))["lang"] == "en-US"
        and next(page.all("title")).words() == next(page.all("h1")).words()
    )
    for tag in ("h1", "main", "nav", "header", "head"):
        assert len(list(page.all(tag))) == 1, tag
    levels = [int(heading.tag[1]) for heading in page.all(*(f"h{level}" for level in range(1, 7)))]
    assert (
        levels[0] == 1
        and all(after <= before + 1 for before, after in zip(levels, levels[1:]))
        and levels.count(1) == 1
    )
    skip = next(page.all("a"))
    assert skip["href"] == "#" + next(page.all("main"))["id"]
    contents = {link["href"] for link in next(page.all("nav")).all("a")}
    assert contents == {"#" + heading["id"] for heading in page.all("h2", "h3")}


def test_every_question_is_there_with_its_worth(page):
    """Computed here again, without facts.py."""
    main = next(page.all("main"))
    blocks = [part for part in main.content if isinstance(part, Element)]
    after = {
        element["id"]: blocks[index + 1]
        for index, element in enumerate(blocks)
        if element.tag in ("h2", "h3")
    }
    titles = {id: question.title for id, question in MANIFEST.questions.items()}
    headings = {heading["id"]: heading.words() for heading in main.all("h3")}
    for id, title in titles.items():
        points = {
            kind: sum(
                check.points
                for check in MANIFEST.checks.values()
                if check.question == id and check.coded == (kind == "coded")
            )
            for kind in ("coded", "written")
        }
        assert headings[f"q-{id}"] == f"{id[0]}({id[1]}) {title}"
        worth = after[f"q-{id}"]
        assert worth["class"] == "worth" and worth.words().startswith(
            f"{sum(points.values()):g} point"
        )
        assert [kind in worth.words() for kind in points] == [bool(points[kind]) for kind in points]
        assert ("extra credit" in worth.words()) == bool(
            id in MANIFEST.questions and MANIFEST.questions[id].extra_credit
        )


def test_no_tex_is_left(page):
    shown = page.words("style", "script", "code", "annotation")
    assert not re.findall(r".{0,40}(?:\\|\0|\[fig:|\[tab:|edition-|``|\$).{0,40}", shown)
    assert not list(page.all("span")) or {span["class"] for span in page.all("span")} <= {
        "equation",
        "wide",
        "mask",
        "pad",
        None,
    }
    assert all("--" not in code.words() or "–" not in code.words() for code in page.all("code"))


def pictures(page):
    """The figures of the sources, which have ids."""
    return [figure for figure in page.all("figure") if figure["id"]]


def test_nothing_is_lost(page, sources):
    """Code is unchanged; formulas, figures, tables, boxes and items are as many as in the sources,
    and most words are there.
    """
    shown = Counter(pre.text().strip("\n") for pre in page.all("pre"))
    blocks = re.findall(
        r"\\begin\{(terminal|python)\}(?:\[.*?\])?\n(.*?)\\end\{\1\}", sources, re.DOTALL
    )
    assert shown == Counter(inside.strip("\n") for _, inside in blocks)
    codes = Counter(code.text() for code in page.all("code"))
    for code, count in Counter(re.findall(r"\\code\{([^{}\n]*)\}", sources)).items():
        assert codes[code] >= count, code
    assert len(pictures(page)) == sources.count(r"\pic{")
    assert len(list(page.all("table"))) == len(re.findall(r"\\begin\{tabularx?\}", sources))
    displayed = [math for math in page.all("math") if math["display"] == "block"]
    assert len(displayed) == len(
        re.findall(r"\\begin\{(?:equation|align|gather)\*?\}|(?<!\\)\\\[", sources)
    )
    boxes = Counter(
        section["class"] for section in page.all("section") if section["role"] == "note"
    )
    assert boxes["box expect"] == sources.count(r"\begin{expect}") and boxes[
        "box note"
    ] >= sources.count(r"\begin{note}")
    assert len(list(next(page.all("main")).all("li"))) >= len(re.findall(r"\\item(?!\[)", sources))
    plain = " ".join(
        re.sub(
            r"\\begin\{(terminal|python)\}.*?\\end\{\1\}|\$[^$]*\$|\\(?:if)?fact\{.*?\}",
            " ",
            sources,
            flags=re.DOTALL,
        ).split()
    )
    shown = page.text("annotation") + " ".join(image["alt"] for image in page.all("img"))
    words = Counter(re.findall(r"\w+", shown.lower()))
    for word, count in Counter(re.findall(r"(?<![\\\w{:-])[a-z]{4,}(?= )", plain.lower())).items():
        assert words[word] >= count, word


def test_figures_say_what_they_show(page, sources):
    for number, (figure, name) in enumerate(
        zip(pictures(page), re.findall(r"\\pic\{(\w+)\}", sources), strict=True), start=1
    ):
        assert figure["id"] == f"fig-{name}" and len(next(figure.all("img"))["alt"]) > 40
        assert re.match(rf"Figure {number}\. \S", next(figure.all("figcaption")).words())
        svg = base64.b64decode(next(figure.all("img"))["src"].partition(",")[2]).decode()
        assert "<svg" in svg and "<metadata" not in svg


def test_hints_are_closed_and_graded_and_at_their_question(page, sources):
    question, found = None, {}
    for element in page.all("h3", "details"):
        if element.tag == "h3":
            question = element["id"].removeprefix("q-")
        elif element["class"] == "hint":
            assert "open" not in element.attributes and len(element.words("summary")) > 20
            found.setdefault(question, []).append(next(element.all("summary")).words())
    asked = re.findall(r"\\begin\{hints\}\{(\w+)\}", sources)
    levels = ["First hint: the idea", "Second hint: the steps", "Third hint: most of the answer"]
    assert found == {id: levels for id in asked} and len(asked) > 15


def test_headings_are_links_to_themselves(page):
    for heading in next(page.all("main")).all("h2", "h3", "h4"):
        (link,) = heading.all("a")
        assert link["href"] == f"#{heading['id']}" and link.words() == heading.words() != ""


def test_formulas_have_a_font_with_all_their_letters(html, page):
    """The page's font has each character, and the slanted form of a single letter."""
    data = re.search(r"font/woff;base64,([^)]*)\)", html)[1]
    font = TTFont(BytesIO(base64.b64decode(data)))
    assert "MATH" in font and "GUST Font License" in str(font["name"].getDebugName(0))
    known = font.getBestCmap()
    slanted = {
        unicodedata.normalize("NFKC", chr(code))
        for code in known
        if "MATHEMATICAL ITALIC" in unicodedata.name(chr(code), "") or code == 0x210E
    }
    for math in page.all("math"):
        assert {ord(char) for char in math.text("annotation") if not char.isspace()} <= set(known)
        for letter in math.all("mi"):
            if re.fullmatch("[A-Za-zα-ω]", letter.text()) and not letter["mathvariant"]:
                assert letter.text() in slanted
    assert page.all("msqrt") and ord("√") in known  # which browsers draw, and no text has
    assert len(data) < 200_000


def test_what_is_wide_scrolls_and_takes_the_focus(page):
    assert all(
        pre["tabindex"] == "0" and pre["aria-label"] in ("Terminal", "Python")
        for pre in page.all("pre")
    )
    scrolling = [element for element in page.all("div") if element["class"] == "scroll"]
    assert all(element["tabindex"] == "0" and element["aria-label"] for element in scrolling)
    assert sum(len(list(element.all("table", "img"))) for element in scrolling) == len(
        list(page.all("table", "img"))
    )
    parts = [element for element in page.all("span") if element["class"] == "equation"]
    assert sum(len(list(element.all("math"))) for element in parts) == len(
        [math for math in page.all("math") if math["display"] == "block"]
    )


def test_no_answers(page):
    shown = page.words()
    for path in (ROOT / "instructor" / "rubrics").glob("*.tex"):
        for words in re.findall(r"[A-Za-z ,.']{60,}", path.read_text(encoding="utf-8")):
            assert " ".join(words.split()) not in shown, path.name
    assert "Rubric for" not in shown


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(
        weight * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4)
        for weight, c in zip((0.2126, 0.7152, 0.0722), channels)
    )


def test_contrast():
    roots = re.findall(
        r":root \{(.*?)\}", (HANDOUT / "html" / "style.css").read_text(encoding="utf-8"), re.DOTALL
    )
    assert len(roots) == 3, "light, dark, print"
    for root in roots:
        colors = dict(re.findall(r"--(\w+): (#\w{6});", root))
        for text in ("text", "accent", "quiet", "warm"):
            for under in ("page", "shade"):
                light, dark = sorted(
                    (luminance(colors[text]), luminance(colors[under])), reverse=True
                )
                assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{text} on {under}"


# The conversion


@pytest.fixture
def made(tmp_path):
    """A function that converts a small handout: text -> html."""
    require_tools("pandoc")

    def make(text, **files):
        for name, content in {
            "main": f"\\input{{macros}}\n\\begin{{document}}\n{text}\n\\end{{document}}",
            **files,
        }.items():
            (tmp_path / f"{name}.tex").write_text(content, encoding="utf-8")
        (tmp_path / "macros.tex").write_bytes((HANDOUT / "macros.tex").read_bytes())
        (tmp_path / "circle.svg").write_text(
            "<svg><metadata>today</metadata></svg>", encoding="utf-8"
        )
        return convert.convert(tmp_path, tmp_path, FACTS)

    return make


EVERYTHING = r"""
\begin{center}{\LARGE\bfseries \fact{title}\par} Due soon.\end{center}
\tableofcontents
\problem{1}{Title}  % \foo in a comment
\begin{ungraded}{1a}{Look} \iffact{nothing}{\foo}{No.} Of \fact{share}: $n = \fact{heads}$, appendix~\ref{a:x}.\end{ungraded}
\begin{question}{1c}
\subpart{1c-0-written} Ask \texttt{--x} -- ``so''. \seehints{1c} \solution{1c}
\begin{terminal}
$ a \foo {} % # & < ⁇
\end{terminal}
\begin{python}[fontsize=\small]
x = {1}  # \foo
\end{python}
\begin{note}Mind \code{a_b\c}.\end{note}
\begin{expect}\begin{enumerate}[label=(\roman*), leftmargin=*] \item One. \end{enumerate}\end{expect}
\pic{circle}{A circle, $x\T y$}{It is ``round'' \& small.} Figure~\ref{fig:circle}, \paper{1706.03762}{Us\ 2017}.
\begin{tabularx}{\linewidth}{@{}lX>{\raggedright\arraybackslash}p{3cm}@{}} \toprule A & \multicolumn{2}{c}{B} \\ \cmidrule(lr){2-3} a & b & c \\ \midrule
1 & 2 & 3 \\ \bottomrule \end{tabularx}
\begin{align*} \softmax(x) &= \begin{cases} 1 & x \\ 2 \end{cases} \\ f(x) \end{align*}
\end{question}
\begin{hints}{1c}
\concept Think.
\procedure Do.
\direction Write.
\end{hints}
\printhints
\appendix
\section{More}\label{a:x} See \q{1c} and \hyperref[q:1a]{it}.
"""


def test_every_command(made):
    html = made(EVERYTHING)
    page = Tree(html).root
    main = next(page.all("main"))
    shown = main.words("annotation")
    assert html == made(EVERYTHING), "the same bytes"
    assert next(page.all("h1")).words() == "A & <B>" and shown.startswith(
        "Due soon. Problem 1: Title 2 points 1(a) Look not graded No. Of 10%: "
    )
    assert (
        "appendix A." in shown
        and "i. [1 point] Ask --x – “so”. First hint: the idea Think. Second hint: the steps"
        in shown
        and "Figure 1, Us 2017." in shown
    )
    assert [pre.text() for pre in page.all("pre")] == [
        "$ a \\foo {} % # & < ⁇",
        "x = {1}  # \\foo",
    ] and "a_b\\c" in shown
    assert [next(main.all("ol"))["type"], next(main.all("img"))["alt"]] == [
        "i",
        "It is “round” & small.",
    ]
    assert [len(list(part.all("tr"))) for part in main.all("thead", "tbody")] == [2, 1] and [
        th.words() for th in main.all("th")
    ] == ["A", "B", "a", "b", "c"]
    assert (
        "metadata" not in base64.b64decode(next(main.all("img"))["src"].partition(",")[2]).decode()
    )
    assert [heading["id"] for heading in main.all("h2", "h3", "h4")] == [
        "p-1",
        "q-1a",
        "q-1c",
        "a-x",
    ]
    assert [details.words("summary") for details in main.all("details")] == [
        "Think.",
        "Do.",
        "Write.",
    ]
    assert len([element for element in main.all() if element["id"] == "part-1c-0-written"]) == 1


def test_no_level_of_headings_is_left_out(made):
    page = Tree(
        made(r"\section*{A}\subsubsection*{B}\subsection*{C}\subsubsection*{D}\section*{E}")
    ).root
    assert [heading.tag for heading in next(page.all("main")).all("h2", "h3", "h4")] == [
        "h2",
        "h3",
        "h3",
        "h4",
        "h2",
    ]


def test_formulas_look_as_in_tex(made):
    """In a browser with MathML Core only, where mathvariant works on mi alone and brackets grow
    with gaps.
    """
    html = made(r"$\mathrm{i} f(x) \mathbf{10} \left(\frac12\right) \cos x$ $f(x)$")
    assert (
        '<mi mathvariant="normal">i</mi>' in html
        and "<mn>\U0001d7cf\U0001d7ce</mn>" in html
        and ">cos</mo>" in html
    )
    assert (
        html.count('stretchy="true"') == 2
        and html.count('stretchy="false"') == 4
        and "<mo>cos" not in html
    )
    assert '<mover class="bar"><mrow>' in made(r"$\overline{a + b}$")


@pytest.mark.parametrize(
    "text, says",
    [
        (r"Text \foo{bar}.", r"main.tex, line 3: .*does not support \\foo.*html/commands.tex"),
        (r"\begin{foo}x\end{foo}", r"main.tex, line 3: .*does not support \\begin\{foo\}"),
        (r"\resizebox{3cm}{!}{lost}", r"does not support \\resizebox"),
        (r"\input{other}", r"other.tex, line 2: .*\\foo"),
        (r"\input{absent}", r"main.tex, line 3: .*absent.tex does not exist"),
        (r"\fact{absent}", r"main.tex, line 3: there is no fact 'absent'"),
        (r"$\fact{absent}$", r"main.tex, line 3: there is no fact 'absent'"),
        (r"\q{9z}", r"main.tex, line 3: there is no fact 'question 9z name'"),
        (r"\q{1c}", r"main.tex, line 3: a link leads to 'q-1c', which does not exist"),
        (
            r"\begin{question}{1c}\end{question} \begin{question}{1c}\end{question}",
            r"'q-1c' is there twice",
        ),
        (r"\hyperref[a:x]{x}", r"main.tex, line 3: a link leads to 'a-x', which does not exist"),
        (r"Figure~\ref{fig:x}", r"main.tex, line 3: \\ref\{fig:x\} names nothing"),
        (r"\pageref{x}", r"main.tex, line 3: \\pageref has no sense"),
        (r"\verb|%|", r"main.tex, line 3: \\verb has no sense.*Use \\code"),
        (
            r"\begin{verbatim}%\end{verbatim}",
            r"main.tex, line 3: the environment verbatim has no sense.*Use terminal",
        ),
        (r"\eqref{x}", r"main.tex, line 3: \\eqref has no sense"),
        (
            r"\begin{equation}\label{x} y \end{equation}",
            r"main.tex, line 3: equations have no numbers",
        ),
        ("a\n\n$x \\foo y$", r"main.tex, line 5, perhaps: pandoc cannot write this formula.*\\foo"),
        (r"\paper{1}", r"main.tex, line 3: paper takes 2 arguments"),
        (
            r"\pic{absent}{Caption}{Words}",
            r"main.tex, line 3: .*absent.svg does not exist.*figures/absent.py",
        ),
        (r"\pic{circle}{Caption}{Words $\frac12$}", r"has TeX in it: 'Words"),
        (r"\ifdefined\withsolutions x\fi", r"main.tex, line 3: \\withsolutions"),
        (r"\seehints{1c}", r"\\seehints\{1c\} comes twice, or without its hints"),
        (
            r"\begin{hints}{1c}\concept A \procedure B \direction C\end{hints}",
            r"the hints of 1c have no \\seehints",
        ),
    ],
)
def test_what_would_be_lost_is_refused(made, text, says):
    with pytest.raises(UserError, match=says):
        made(text, other="\n\\foo")


def test_without_pandoc(tmp_path):
    process = subprocess.run(
        [sys.executable, HANDOUT / "html" / "convert.py", tmp_path / "out.html"],
        capture_output=True,
        encoding="utf-8",
        env={"PATH": str(tmp_path)},
    )
    assert (
        process.returncode == 2
        and "apt install pandoc" in process.stderr
        and "Traceback" not in process.stderr
    )
    assert list(tmp_path.iterdir()) == []
