"""Builds the corpus and the questions from a dump of Wikipedia: `python -m instructor wikipedia`.

command.py    the command line; docs/corpora.md describes its use
archive.py    parts of the file, each with the XML of the pages that begin in it
dump.py       reads the parts in several processes, and keeps a file for each finished one
pages.py      skips pages that cannot be about people, by their bytes; mwxml parses the others
people.py     a page's person, from the plain text of wikitext.py and sentences.py,
              birthplace.py (where) and language.py (the words of four languages)
wikidata.py   one pass over Wikidata, if it is given, into wikidata.sqlite, which pages.py queries
selection.py  who is in the edition; write.py writes its files, report.py describes it
"""
