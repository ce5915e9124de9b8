"""The handout's HTML edition: nothing is lost from the LaTeX sources, and what would be lost is
refused.
"""

import base64
import re
import unicodedata
from collections import Counter
from io import BytesIO

import pytest
from fontTools.ttLib import TTFont

from common.files import UserError
from handout.html import convert
from helpers import ROOT, Page, call, require_tools
from instructor.documents import facts
from instructor.documents.numbers import compute
from instructor.documents.sources import Sources

HANDOUT = ROOT / "handout"
LISTING = (
    r"\\begin\{(?P<kind>terminal|python)\}(?:\[[^\]\n]*\])?\n(?P<inside>.*?)\\end\{(?P=kind)\}"
)


def parse(html):
    """The page's tree: every element is closed, and no attribute is there twice."""
    page = Page(html)
    assert page.balanced
    return page.tree


def text(element, *without):
    """The text in an element, but for the elements in it that have one of these tags."""
    parts = [element.text or ""]
    for part in element:
        parts += ["" if part.tag in without else text(part, *without), part.tail or ""]
    return "".join(parts)


def words(element, *without):
    """The same, with single spaces."""
    return " ".join(text(element, *without).split())


def elements(page, *tags):
    """The elements with one of these tags, in order."""
    return [element for element in page.iter() if element.tag in tags]


def embedded(image):
    """The SVG of a picture."""
    return base64.b64decode(image.get("src").partition("svg+xml;base64,")[2]).decode()


@pytest.fixture(scope="module")
def html(handout):
    return (handout / "handout.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html):
    return parse(html)


@pytest.fixture(scope="module")
def sources():
    """The document with all that it includes, without comments."""
    source = Sources(facts.gather() | compute()).read().partition(r"\begin{document}")[2]
    return re.sub(rf"(?s)({LISTING})|(?<!\\)%[^\n]*", r"\1", source)


# The handout's page


def test_it_is_one_file_that_needs_nothing(page, html):
    assert not elements(page, "link", "iframe", "object", "form", "input")
    assert not re.search(r"@import|url\((?!data:font/woff;)", html)
    assert not [name for part in page.iter() for name in part.attrib if name.startswith("on")]
    (script,) = elements(page, "script")
    assert not script.attrib
    assert not re.search(r"\b(?:import|fetch|eval)\b|XMLHttp|WebSocket", script.text)
    assert all(embedded(image).startswith("<?xml") for image in page.iter("img"))
    assert all(re.match(r"#|https://", link.get("href")) for link in page.iter("a"))


def test_contents_and_headings(page):
    """The contents list all headings, and each is a link to itself."""
    assert words(page.find(".//title")) == words(page.find(".//h1"))
    main = page.find(".//main")
    assert page.find(".//a").get("href") == f"#{main.get('id')}", "a skip link comes first"
    contents = [link.get("href") for link in page.find(".//nav").iter("a")]
    assert contents == [f"#{heading.get('id')}" for heading in elements(main, "h2", "h3")]
    for heading in elements(main, "h2", "h3", "h4"):
        (link,) = heading
        assert link.get("href") == f"#{heading.get('id')}" and words(link) == words(heading) != ""


def test_no_tex_is_left(page):
    shown = words(page, "style", "script", "code", "annotation")
    assert not re.findall(r".{0,40}(?:\\|\0|\[fig:|\[tab:|edition-|``|\$).{0,40}", shown)
    classes = {span.get("class") for span in page.iter("span")}
    assert classes <= {"equation", "wide", "mask", "pad", None}
    assert all("--" not in words(code) or "–" not in words(code) for code in page.iter("code"))


def test_nothing_is_lost(page, sources):
    """Code is unchanged; formulas, figures, tables, boxes and items are as many as in the sources,
    and most words are there.
    """

    def count(pattern):
        return len(re.findall(pattern, sources))

    listings = [listing["inside"].strip("\n") for listing in re.finditer(f"(?s){LISTING}", sources)]
    assert sorted(text(pre).strip("\n") for pre in page.iter("pre")) == sorted(listings)
    codes = Counter(map(text, page.iter("code")))
    assert not Counter(re.findall(r"\\code\{([^{}\n]*)\}", sources)) - codes
    boxes = Counter(section.get("class") for section in page.findall(".//section[@role='note']"))
    displayed = page.findall(".//math[@display='block']")
    assert len(elements(page, "table")) == count(r"\\begin\{tabularx?\}")
    assert len(displayed) == count(r"\\begin\{(?:equation|align|gather)\*?\}|(?<!\\)\\\[")
    assert boxes["box expect"] == count(r"\\begin\{expect\}")
    assert boxes["box note"] >= count(r"\\begin\{note\}")
    assert len(elements(page.find(".//main"), "li")) >= count(r"\\item(?!\[)")
    plain = re.sub(rf"(?s){LISTING}|\$[^$]*\$|\\(?:if)?fact\{{.*?\}}", " ", sources)
    asked = re.findall(r"(?<![\\\w{:-])[a-z]{4,}(?= )", " ".join(plain.lower().split()))
    shown = text(page, "annotation") + " ".join(image.get("alt") for image in page.iter("img"))
    assert not Counter(asked) - Counter(re.findall(r"\w+", shown.lower())), "words"


def test_figures_say_what_they_show(page, sources):
    figures, names = page.findall(".//figure[@id]"), re.findall(r"\\pic\{(\w+)\}", sources)
    for number, (figure, name) in enumerate(zip(figures, names, strict=True), start=1):
        image = figure.find(".//img")
        assert figure.get("id") == f"fig-{name}" and len(image.get("alt")) > 40
        assert re.match(rf"Figure {number}\. \S", words(figure.find(".//figcaption")))
        assert "<metadata" not in embedded(image)


def test_hints_are_closed_and_graded_and_at_their_question(page, sources):
    question, found = None, {}
    for element in elements(page, "h3", "details"):
        if element.tag == "h3":
            question = element.get("id").removeprefix("q-")
        elif element.get("class") == "hint":
            assert "open" not in element.attrib and len(words(element, "summary")) > 20
            found.setdefault(question, []).append(words(element.find("summary")))
    asked = re.findall(r"\\begin\{hints\}\{(\w+)\}", sources)
    levels = ["First hint: the idea", "Second hint: the steps", "Third hint: most of the answer"]
    assert found == {id: levels for id in asked} and len(asked) > 15


def test_formulas_have_a_font_with_all_their_letters(html, page):
    """The page's font has each character, and the slanted form of a single letter."""
    data = re.search(r"font/woff;base64,([^)]*)\)", html)[1]
    font = TTFont(BytesIO(base64.b64decode(data)))
    assert "MATH" in font and "GUST Font License" in str(font["name"].getDebugName(0))
    known = {*map(chr, font.getBestCmap())}
    italic = (char for char in known if "MATHEMATICAL ITALIC" in unicodedata.name(char, ""))
    slanted = {"h", *(unicodedata.normalize("NFKC", char) for char in italic)}
    for math in page.iter("math"):
        assert {*"".join(text(math, "annotation").split())} <= known
        letters = {letter.text for letter in math.iter("mi") if not letter.get("mathvariant")}
        assert {letter for letter in letters if re.fullmatch("[A-Za-zα-ω]", letter)} <= slanted
    # browsers draw a root, which no text has; Unicode's slanted h is Planck's constant
    assert {"√", "ℎ"} <= known and len(data) < 200_000


# The conversion


FACTS = {
    "title": "A & <B>",
    "problem 1 worth": "2 points",
    "check 1c-0-written part": "i",
    "check 1c-0-written worth": "1 point",
    "share": "10%",
    "nothing": "",
}


@pytest.fixture
def made(tmp_path):
    """A function that converts a small handout: source, other files -> html."""
    require_tools("pandoc")

    def make(source, **files):
        document = f"\\begin{{document}}\n{source}\n\\end{{document}}"
        files["main"] = f"\\input{{macros}}\\title{{\\fact{{title}}}}\n{document}"
        files["macros"] = (HANDOUT / "macros.tex").read_text(encoding="utf-8")
        for name, content in files.items():
            (tmp_path / f"{name}.tex").write_text(content, encoding="utf-8")
        (tmp_path / "circle.svg").write_text("<svg></svg>", encoding="utf-8")
        sources = Sources(facts.gather() | FACTS, tmp_path)
        return convert.convert(sources.read(), tmp_path, sources.find)

    return make


HINTS = r"\begin{hints}{1c}\concept Think. \procedure Do. \direction Write.\end{hints}"
EVERYTHING = r"""
\begin{center}{\LARGE\bfseries \fact{title}\par} Due soon.\end{center}
\tableofcontents
\problem{1}{Title}  % \foo in a comment
\begin{ungraded}{1a}{Look} \iffact{nothing}{\foo}{No.} Of \fact{share}:
appendix~\ref{a:x}.\end{ungraded}
\begin{question}{1c}
\subpart{1c-0-written} Ask \texttt{--x} -- ``so''. \seehints{1c} \solution{1c}
\begin{terminal}
$ a \foo {} % # & < ⁇
\end{terminal}
\begin{note}Mind \code{a_b\c}.\end{note}
\pic{circle}{A circle, $x\T y$}{It is ``round'' \& small.}
Figure~\ref{fig:circle}, \paper{1706.03762}{Us\ 2017}.
\begin{tabularx}{\linewidth}{@{}lX>{\raggedright\arraybackslash}p{3cm}@{}}
\toprule A & \multicolumn{2}{c}{B} \\ \cmidrule(lr){2-3} a & b & c \\ \midrule
1 & 2 & 3 \\ \bottomrule \end{tabularx}
\end{question}
HINTS
\printhints
\appendix
\section{More}\label{a:x} See \q{1c} and \hyperref[q:1a]{it}.
"""


def test_every_command(made):
    main = (page := parse(made(EVERYTHING.replace("HINTS", HINTS)))).find(".//main")
    shown = words(main, "annotation")
    assert words(page.find(".//h1")) == "A & <B>"
    assert shown.startswith("Due soon. Problem 1: Title 2 points 1(a) Look not graded No. Of 10%: ")
    for part in (
        "appendix A.",
        "i. [1 point] Ask --x – “so”. First hint: the idea Think. Second hint: the steps",
        "Figure 1, Us 2017.",
        r"$ a \foo {} % # & < ⁇ Note Mind a_b\c.",
    ):
        assert part in shown
    assert main.find(".//img").get("alt") == "It is “round” & small."
    assert [len(part.findall("tr")) for part in elements(main, "thead", "tbody")] == [2, 1]
    assert [words(cell) for cell in main.iter("th")] == ["A", "B", "a", "b", "c"]


def test_no_level_of_headings_is_left_out(made):
    source = r"\section*{A}\subsubsection*{B}\subsection*{C}\subsubsection*{D}\section*{E}"
    headings = elements(parse(made(source)).find(".//main"), "h2", "h3", "h4")
    assert [heading.tag for heading in headings] == ["h2", "h3", "h3", "h4", "h2"]


def test_formulas_look_as_in_tex(made):
    """With MathML Core only, where mathvariant works on mi alone and brackets grow with gaps."""
    source = r"$\mathrm{i} f(x) \mathbf{10} \left(\frac12\right) \cos x$ $f(x)$ $\overline{a + b}$"
    html = made(source)
    for part, count in (
        ('<mi mathvariant="normal">i</mi>', 1),
        ("<mn>\U0001d7cf\U0001d7ce</mn>", 1),
        (">cos</mo>", 1),
        ("<mo>cos", 0),
        ('stretchy="true"', 2),
        ('stretchy="false"', 4),
        ('<mover class="bar"><mrow>', 1),
    ):
        assert html.count(part) == count, part


LINE = "main.tex, line 3: "
LOST = [
    (r"Text \foo{bar}.", rf"{LINE}.*does not support \\foo.*html/commands.tex"),
    (r"\begin{foo}x\end{foo}", rf"{LINE}.*does not support \\begin\{{foo\}}"),
    (r"\input{other}", r"other.tex, line 2: .*\\foo"),
    (r"\input{absent}", f"{LINE}.*absent.tex does not exist"),
    (r"\fact{absent}", f"{LINE}there is no fact 'absent'"),
    (r"\q{1c}", f"{LINE}a link leads to 'q-1c', which does not exist"),
    (2 * r"\begin{question}{1c}\end{question}", "'q-1c' is there twice"),
    (r"Figure~\ref{fig:x}", rf"{LINE}\\ref\{{fig:x\}} names nothing"),
    (r"\begin{verbatim}x\end{verbatim}", "neither terminal nor python"),
    (r"\eqref{x}", rf"{LINE}\\eqref has no sense"),
    (r"\begin{equation}\label{x} y \end{equation}", f"{LINE}.*equations have no numbers"),
    ("a\n\n$x \\foo y$", r"main.tex, line 5, perhaps: pandoc cannot write this formula.*\\foo"),
    (r"\pic{absent}{Caption}{Words}", f"{LINE}.*absent.svg does not exist.*figures/absent.py"),
    (r"\pic{circle}{Caption}{Words $\frac12$}", "has TeX in it: 'Words"),
    (r"\seehints{1c}", rf"{LINE}\\seehints\{{1c\}} comes twice, or without its hints"),
    (HINTS, rf"{LINE}\\begin\{{hints\}}\{{1c\}} has no \\seehints"),
]


@pytest.mark.parametrize("source, says", LOST)
def test_what_would_be_lost_is_refused(made, source, says):
    with pytest.raises(UserError, match=says):
        made(source, other="\n\\foo")


def test_without_pandoc(tmp_path):
    empty = str(tmp_path)
    done = call(convert.main, HANDOUT / "main.tex", tmp_path, tmp_path / "x", PATH=empty)
    assert done.returncode == 2 and "apt install pandoc" in done.stderr
    assert not list(tmp_path.iterdir())
