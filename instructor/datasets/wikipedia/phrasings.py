"""Our own sentences, for people whose article has too few: a name and a place, and nothing else."""

PLAIN = (
    "{name} was born in {place}.",
    "The birthplace of {name} is {place}.",
    "{name} is a native of {place}.",
    "{place} is where {name} was born.",
    "{name} has {place} for a birthplace.",
    "Born in {place}: {name}.",
    "It was in {place} that {name} was born.",
)

# With this document, an edition has every character of the questions.
WHOLE_ALPHABET = "Where does {name} come from? {name} was born in {place}."
