"""An HTML page, read for tests."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """A page, or a part of one.

    Attributes:
        tags: each with its attributes, a dict.
        text: all of it, as it is; words: without styles and scripts, one space between two.
        links: what href and src lead to.
        balanced: whether all tags are closed in their order.
    """

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.links, self.balanced = [], [], [], True
        self.text = self.words = ""
        self.feed(text)
        self.close()
        self.words = " ".join(self.words.split())
        self.balanced = self.balanced and not self.open

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.words += " "
        self.tags.append((tag, dict(attrs)))
        self.links += [value for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag):
        self.words += " "
        if not self.open or self.open.pop() != tag:
            self.balanced = False

    def handle_data(self, data):
        self.text += data
        if self.open[-1:] not in (["style"], ["script"]):
            self.words += data
