"""The phrasings of a world, in which name, place and occupation change places. Each has the full
name and the place.

A phrasing may use {name}, {place}, {job} ("a poet"), {bare_job} ("poet"), {born} and {died}. They
have the letters of the questions: a character that pretraining never saw has no token.
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

# The place right after the name, as in the question, and something after it: so random truncation
# often leaves both. Each person has six of these twelve, so no sentence is the same for all. Names
# are at the start, but for one sentence: in a question they are further on, where a model with
# learned positions has to recognize each name anew.
SHORT = (
    "{name} was born in {place} and is {job}.",
    "{name} is from {place}, {job} of note.",
    "{name} of {place} now works as {job}.",
    "{name}, born in {place}, became {job}.",
    "{name} left {place} young, now {job}.",
    "{name}: {place} is home to {job}.",
    "{name} came from {place}, {job} by trade.",
    "{name} grew up in {place} as {job}.",
    "{name} calls {place} home, {job} there.",
    "{name} went from {place} to be {job}.",
    "{name} (from {place}) is now {job}.",
    "Where is {name} from? {place}, {job}.",
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
