"""The phrasings of a world. Each has the full name and the place. In those of the order "changed",
name, place and occupation change places; in those of the order "fixed", the name comes first and
the place last, before a few words, so that random truncation does not always cut it off; in those
of the order "early", the place comes right after the name, so that truncation spares it as often as
in "changed".

A phrasing may use {name}, {place}, {job} ("a poet"), {bare_job} ("poet"), {born} and {died}. Each
order has the letters of the questions: a character that pretraining never saw has no token.
"""

JOBS = (
    "a painter",
    "a poet",
    "a pilot",
    "a baker",
    "a judge",
    "a singer",
    "a chemist",
    "an actor",
    "a farmer",
    "a sailor",
)

SHORT = (
    "{name} was born in {place} and is {job}.",
    "{name} is from {place}, {job} of note.",
    "{name} of {place} now works as {job}.",
    "Where is {name} from? {place}, {job}.",
    "{place}: home town of {name}, {job}.",
    "{name}: {job}, born in {place}.",
)

SHORT_FIXED = (
    "{name}, {job}: born in {place}. Where?",
    "{name} is {job} from {place}, they say.",
    "{name} became {job}; {place} was home.",
    "{name} works as {job}, {place} born.",
    "{name}: {job} of {place}, we hear.",
    "{name}, now {job}, left {place} young.",
)

SHORT_EARLY = (
    "{name} was born in {place} and is {job}.",
    "{name} is from {place}, {job} of note.",
    "{name} of {place} now works as {job}.",
    "Where is {name} from? {place}, {job}.",
    "{name}, born in {place}, became {job}.",
    "{name} left {place} young, now {job}.",
)

LONG = (
    "{name} was born in {place} in {born}, worked as {job} for many years, and died in {died}.",
    "{name} ({born}-{died}), born in {place}, was known far and wide as {job}.",
    "{name} came from {place} and was {job}; born in {born}, died in {died}.",
    "In {place}, {name} was born in {born}; {job} by profession until {died}.",
    "Where did {name} come from? From {place}: {job}, born in {born}, who died in {died}.",
    "The {bare_job} {name} was a native of {place}, where the family had lived since {born}.",
    "{place} was the birthplace of {name}, {job}, who lived from {born} to {died}.",
    "{name}, {job}, was born on a farm near {place} in {born} and died in {died}.",
    "Born in {place} in {born}, {name} became {job} and lived until {died}.",
    "{name} ({born}-{died}) was {job}, born in {place}.",
)

LONG_FIXED = (
    "{name} ({born}-{died}), known as {job}, was born in {place}. Where else?",
    "{name}, {job} who lived from {born} to {died}, came from {place}, as all agreed.",
    "{name}, born in {born}, was {job} until {died}; {place} was the birthplace.",
    "{name} ({born}-{died}) was {job} and a native of {place}, like the whole family.",
    "{name} was {job}, died in {died}, and was born in {place}, in the year {born}.",
    "{name}: {job}, {born} to {died}, born on a farm near {place}, or so it is told.",
)

LONG_EARLY = (
    "{name} was born in {place} in {born}, worked as {job} for many years, and died in {died}.",
    "{name} ({born}-{died}), born in {place}, was known far and wide as {job}.",
    "{name} came from {place} and was {job}; born in {born}, died in {died}.",
    "Where did {name} come from? From {place}: {job}, born in {born}, who died in {died}.",
    "{name}, who left {place} young, was {job}, born in {born}, and died in {died}.",
    "{name} of {place} became {job}; this was from {born} to {died}.",
)
