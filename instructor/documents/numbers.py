"""The numbers of the handout's examples and of the worked answers, computed.

What the reference computes is taken from it: the checks and tests/checks hold it to PyTorch. By
hand stay what a text assumes, and a constant whose formula stands beside it.
"""

import re
from importlib import import_module
from math import ceil, e, erf, exp, log, pi, sin, sqrt

import numpy as np
import torch

from common.files import read_text
from instructor import ROOT
from instructor.documents.facts import Facts
from instructor.release.starter import KEPT_RESULTS, SOLUTION
from jobs.package import load_submission
from jobs.presets import GPU, LAPTOP
from jobs.problem1.models import new_model
from jobs.problem5.scaling import gradient_of_w_q

DATA = ROOT / "data" / LAPTOP.data
# the sizes of 6a, and the record of 6d
WIDTH, HEADS, HIDDEN = 512, 8, 2048
RECORD, GLOBALS = 75_000, range(0, 75_000, 500)


def compute() -> Facts:
    """All of them, in a second or two."""
    facts = _trainings(load_submission(SOLUTION))
    problems = (_knowledge, _keys, _lengths, _positions, _attention, _encoder)
    for problem in (*problems, _accounting, _sparse, _stream, _sampling, _documents):
        facts |= problem()
    return facts


def _solution(name):
    """A module of the reference, which compute() has loaded."""
    return import_module(f"submission.{name}")


def _parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


def _cells(*numbers):
    return [f"{number:,}" for number in numbers]


def _trainings(submission):
    """1: parameters and steps."""
    people = len(read_text(DATA / "birth_places_train.tsv").splitlines())
    facts, trainings = {}, {"laptop scratch": (LAPTOP.finetune_from_scratch, people)}
    trainings["laptop pretrained"] = LAPTOP.finetune_pretrained, people
    for preset in (LAPTOP, GPU):
        text = read_text(ROOT / "data" / preset.data / "wiki.txt")
        documents = submission.CharCorruptionDataset(text, preset.block_size)
        for variant in ("vanilla", "rope"):
            model = new_model(submission, variant, documents.vocab_size, preset)
            facts[f"{preset.name} {variant} parameters"] = f"{_parameters(model):,}"
        own = submission.pretrain(documents, preset.block_size, model)[0]
        stage = preset.pretrain if preset.pretrain.max_epochs else own
        trainings[f"{preset.name} pretrain"] = stage, len(documents)
    for name, (stage, examples) in trainings.items():
        facts[f"{name} steps"] = f"{stage.max_epochs * ceil(examples / stage.batch_size):,}"
    return facts


def _knowledge():
    """2: measurements from docs/accuracy.md, and counts of the stored answers."""
    about = read_text(ROOT / "docs" / "accuracy.md")
    facts, said = {}, r"recited the place for (.*?) dev people and answered (\d+%)"
    for recited, answered in re.findall(said, about):
        facts |= {"2a recited": recited, "2a answered": answered}
    row = r"(?m)^\| (\w+ phrasings?\b.*?) \| (\d+%) \(.*?\) \| (\d+%) \(.*?\) \|$"
    for number, cells in enumerate(re.findall(row, about), start=1):
        facts[f"2a phrasings {number}"] = list(cells)
    answers, train = (
        [row.split("\t")[1] for row in read_text(DATA / f"{name}.tsv").splitlines()]
        for name in ("birth_dev", "birth_places_train")
    )
    vanilla, rope, strangers = (
        read_text(KEPT_RESULTS / f"{name}.dev.predictions").splitlines()
        for name in ("vanilla.pretrain", "rope.pretrain", "vanilla.nopretrain")
    )
    right = [r == answer for r, answer in zip(rope, answers)]
    agreed = [each for v, r, each in zip(vanilla, rope, right) if v == r]
    wrong = sum(v != answer for v, answer in zip(vanilla, answers))
    counts = {"2b vanilla": len(answers) - wrong, "2b rope": right.count(True)}
    counts |= {"2b wrong": wrong + right.count(False), "2b rope wrong": right.count(False)}
    counts |= {"2b agreed": len(agreed), "2b withheld": right.count(True) - agreed.count(True)}
    counts["2b wrong withheld"] = right.count(False) - agreed.count(False)
    counts["2c with M"] = sum(place.startswith("M") for place in strangers)
    counts["2c cities"] = sum(place in {*answers, *train} for place in strangers)
    return facts | {key: str(count) for key, count in counts.items()}


def _keys():
    """3a to 3d: gaps, weights in percent or not, and shares of draws: the length of a key has mean
    1 and variance 1/2, so it is within x of 1 in a share erf(x).
    """
    one, two, negative = e / (e + 127), 2 * e / (2 * e + 126), (1 - erf(1)) / 2
    facts = {f"3b rest {beta}": f"{126 / (2 * exp(beta) + 126):.3f}" for beta in (1, 5, 10)}
    facts |= {f"3c mixed {beta}": f"{100 * erf(log(9) / beta):.2g}%" for beta in (10, 100)}
    facts |= {"3a gap": f"{log(127 / 0.01):.2f}", "3b scale": f"{log(126 / 0.02):.2f}"}
    facts |= {"3a weight": f"{one:.3f}", "3a percent": f"{one:.0%}", "3b percent": f"{two:.0%}"}
    facts |= {"3c negative": f"{negative:.1%}", "3d positive": f"{1 - negative:.3f}"}
    return facts | {"3d variance": f"{negative * (1 - negative) / 4:.3f}"}


def _lengths():
    """3d: the weight of v_a over all draws and those with a positive length, by quadrature."""
    facts, normal = {}, np.linspace(-9, 9, 400_001)
    length, density = 1 + normal / sqrt(2), np.exp(-(normal**2) / 2)
    for beta, name in ((10, "10"), (100, "100"), (2000, "limit")):
        with np.errstate(over="ignore"):  # 1 / inf is 0, as it should be
            rest = np.exp(-beta * length)
            one = 1 / (1 + np.exp(beta * (1 - length)) + 8 * rest)
            # the second head puts on b what is not spread evenly
            two = (1 / (1 + 9 * rest) + exp(-beta) / (1 + 9 * exp(-beta))) / 2
        for heads, weight in (("one", one), ("two", two)):
            row = facts[f"3d {heads} {name}"] = []
            for draws in (density, density * (length > 0)):
                mean = np.average(weight, weights=draws)
                row += [f"{mean:.3f}", f"{np.average((weight - mean) ** 2, weights=draws):.3f}"]
    return facts | {"3c variance": facts["3d one 10"][1]}


def _positions():
    """4b, 6c: wavelengths, and distances between encodings."""
    frequencies, longest = _solution("problem6.positions").frequencies, round(2 * pi * 10000)

    def nearest(shifts, d=WIDTH):
        turns = np.outer(shifts, frequencies(d))
        return np.sqrt((4 * np.sin(turns / 2) ** 2).sum(axis=1)).min()

    far = min(nearest(part) for part in np.array_split(np.arange(100, 200_001), 20))
    distances = {"4b nearest": nearest(range(1, 128), 256), "6c far": far}
    distances |= {"6c by 1": nearest([1]), "6c by 2": nearest([2])}
    distances["6c by longest"] = nearest([longest])
    facts = {name: f"{distance:.2f}" for name, distance in distances.items()}
    facts |= {"4b by 44": f"{2 * abs(sin(22)):.3f}", "4b by 710": f"{2 * abs(sin(355)):.5f}"}
    facts |= {"6c longest": f"{longest:,}", "6c last": f"{2 * pi / frequencies(WIDTH)[-1]:,.0f}"}
    return facts | {"4b period": f"{round(2 * pi / frequencies(256)[-1], -1):,.0f}"}


def _attention():
    """5a to 5c: the example, and the table of the scaling experiment."""
    numpy_attention = _solution("problem5.numpy_attention")
    Q, K, V = np.eye(3)[:2], np.eye(3), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    weights, output = (numpy_attention.attention(Q, K, values) for values in (K, V))
    facts = {"5c printed": str(output.round(4))}
    facts |= {f"5a power {n}": f"{exp(-n / 2):.5f}" for n in (1, 2, 3, 4)}
    facts |= {"5a power": f"{exp(1 / sqrt(3)):.4f}", "5a sum": f"{2 + exp(1 / sqrt(3)):.4f}"}
    matrices = {"Q": Q, "K": K, "V": V, "S": Q @ K.T, "scaled": Q @ K.T / sqrt(3)}
    for name, matrix in (matrices | {"weights": weights, "output": output}).items():
        for number, row in enumerate(matrix, start=1):
            facts[f"5a {name} {number}"] = [f"{round(entry, 4):g}" for entry in row]
    facts["5a large"], facts["5a small"], _ = facts["5a weights 1"]
    facts["5a first"] = facts["5a output 1"][0]
    for d_k in (4, 16, 64, 256, 1024):
        measured, w_q = numpy_attention.scaling_experiment(d_k), gradient_of_w_q(d_k, seed=0)
        kinds = ([*measured[kind].values(), w_q[kind]] for kind in ("unscaled", "scaled"))
        cells = zip((value for pair in zip(*kinds) for value in pair), "2222334433", strict=True)
        facts[f"5b {d_k}"] = [f"{value:.{digits}f}" if value else "0" for value, digits in cells]
    facts["5b even"] = f"{sqrt(63) / 64:.3f}"
    return facts | {"5b times": f"{w_q['unscaled'] / w_q['scaled']:.0f}"}


def _encoder():
    """5e to 5h: parameters."""
    encoder = _solution("problem5.encoder")
    learned, fixed = (
        encoder.Encoder(encoder.EncoderConfig(1000, 24, 5, positions=kind))
        for kind in ("learned", "sinusoidal")
    )
    modules = {"fixed": fixed, "layer": fixed.layers[0], "learned": learned}
    modules["bag"] = encoder.BagOfWords(1000, 5)
    facts = {f"5e {name}": f"{_parameters(module):,}" for name, module in modules.items()}
    return facts | {"5h positions": f"{_parameters(learned) - _parameters(fixed)}"}


def _accounting():
    """6a: both ways to count, and the cache."""
    accounting, sizes = _solution("problem6.accounting"), (WIDTH, HEADS, HIDDEN, 100)
    adds, flops = accounting.multiply_adds(*sizes), accounting.flops(*sizes)
    head, softmax = adds["scores"] // HEADS, flops["softmax"] // HEADS
    mixed, cache = 2 * head + softmax, accounting.kv_cache_bytes(40, 5120, 40, 4096)
    facts = {"6a one head": _cells(head, 2 * head), "6a softmax": f"{softmax:,}"}
    without_softmax, in_flops = (each["scores"] + each["weighted_sum"] for each in (adds, flops))
    facts["6a attention"] = _cells(without_softmax, in_flops + flops["softmax"])
    for name in ("projections", "feed_forward"):
        facts[f"6a {name}"] = _cells(adds[name], flops[name])
    facts |= {"6a mixed head": f"{mixed / 1e6:.2f}", "6a mixed": f"{HEADS * mixed / 1e6:.2f}"}
    return facts | {"6a cache": f"{cache:,}", "6a cache GiB": f"{cache / 2**30:.3f}"}


def _sparse():
    """6d, i and ii: connections, estimated as in the handout and counted."""
    sparse, n, g = _solution("problem6.efficient_attention"), RECORD, len(GLOBALS)
    pattern, count = sparse.Pattern(), sparse.count_connections
    w, strides, row = pattern.window, pattern.strides, 2 * pattern.window + 1
    estimates = n * 2 * w, 2 * g * n, 2 * 16 * n
    counts = n * row - w * (w + 1), 2 * g * n - g**2, 2 * sum(n - stride for stride in strides)
    exact, causal = (count(n, sparse.Pattern(causal=each), GLOBALS) for each in (False, True))
    few, few_causal = (count(16, sparse.Pattern(2, (4, 8), each), [0]) for each in (False, True))
    k, blocks = row + 2 * len(strides) + 2 * g, 2 * ceil(w / sparse.BLOCK) + 1
    attended = len(sparse.attended_positions(37_400, n, pattern, GLOBALS))
    estimate, full, full_causal = sum(estimates), n * n, n * (n + 1) / 2
    parts = zip(("window", "global", "long range"), estimates, counts)
    facts = {f"6d {part}": _cells(*numbers) for part, *numbers in parts}
    facts |= {"6d twice": f"{sum(counts) - exact:,}", "6d estimate": f"{estimate:,}"}
    facts |= {"6d full": f"{full:,}", "6d full GB": f"{full * 4 / 1e9:.1f}"}
    facts |= {"6d exact": f"{exact:,}", "6d mean": f"{exact / n:,.1f}", "6d causal": f"{causal:,}"}
    facts |= {"6d factor": f"{full / exact:.1f}", "6d estimated factor": f"{full / estimate:.0f}"}
    facts |= {"6d causal factor": f"{full_causal / causal:.1f}"}
    facts |= {"6d small": f"{few}", "6d small causal": f"{few_causal}"}
    facts |= {"6d k": f"{k:,}", "6d bound": f"{n * k:,}"}
    facts |= {"6d blocks": f"{blocks}", "6d keys of blocks": f"{blocks * sparse.BLOCK:,}"}
    facts |= {"6d steps": f"{_steps(pattern, 1)}", "6d causal steps": f"{_steps(pattern, 0)}"}
    other = attended - row - 2 * len(strides)
    return facts | {"6d attended": f"{attended:,}", "6d other globals": f"{other}"}


def _steps(pattern, back):
    """The fewest connections from position 1,000 to 60,000 without global positions; back: 1 if
    they lead to earlier positions, too.
    """
    reached, steps = 1 << 1000, 0  # a bit for each position
    while not reached >> 60_000 & 1:
        before, steps = reached, steps + 1
        for shift in (*range(1, pattern.window + 1), *pattern.strides):
            reached |= before << shift | back * before >> shift
        reached &= (1 << RECORD) - 1
    return steps


def _stream():
    """6d, v: the cache, all keys and values, and the claim; MB of a layer, GB of 32."""
    pattern, entry = _solution("problem6.efficient_attention").Pattern(), 2 * WIDTH * 4
    held, claimed = max(pattern.strides) + 200, pattern.window + 200 + 16
    facts = {"6d cache bytes": f"{held * entry:,}", "6d saving": f"{RECORD / held:.1f}"}
    for name, entries in (("cache", held), ("dense", RECORD)):
        layer = entries * entry / 1e6
        facts |= {f"6d {name}": f"{layer:.1f}", f"6d {name} 32": f"{32 * layer / 1e3:.2f}"}
    for name, size in (("float32", entry), ("float16", entry / 2)):
        layer = claimed * size / 1e6
        facts |= {f"6d claim {name}": f"{layer:.2f}", f"6d claim {name} 32": f"{32 * layer:.1f}"}
    return facts | {"6d claim saving": f"{RECORD / claimed:.0f}"}


def _sampling():
    """6e: top-p and a penalty, in the box of examples."""
    fixes, probabilities = _solution("problem6.fixes"), torch.tensor([0.5, 0.3, 0.15, 0.05])
    kept = fixes.top_p_filter(probabilities.log(), 0.9).isfinite()
    first, second, _ = fixes.repetition_penalty(torch.tensor([2, -1, 0.5]), [0, 1], 1.2)
    facts = {"6e positive": f"{first:.3f}", "6e negative": f"{second:.1f}"}
    return facts | {"6e kept": f"{probabilities[kept].sum():.2f}"}


def _documents():
    """6g: connections, and all multiply-adds of a layer, dense and with a causal decoder."""
    read, asked, d = 10 * 1000, 50, WIDTH
    total, encoder, decoder = read + asked, 10 * 1000**2, asked * read
    own, causal = (length * (length + 1) // 2 for length in (asked, total))

    def layer(tokens, connections):
        """Projections, feed-forward network, scores and weighted sum."""
        return 4 * tokens * d * d + 2 * tokens * d * HIDDEN + 2 * connections * d

    reading, memory = layer(read, encoder), 2 * read * d * d
    writing = layer(asked, asked**2 + decoder) + 2 * asked * d * d
    ours, later = reading + memory + writing, memory + writing
    whole, masked = layer(total, total**2), layer(total, causal)
    factor = total**2 / (encoder + decoder + own)
    facts = {"6g self": f"{own:,}", "6g causal": f"{causal:,}", "6g dense": f"{total**2:,}"}
    facts |= {"6g factor": f"{factor:.1f}", "6g kept": f"{whole / writing:.0f}"}
    facts |= {"6g in all": f"{whole / ours:.1f}", "6g later": f"{whole / later:.0f}"}
    masked_all, masked_later = f"{masked / ours:.1f}", f"{masked / later:.0f}"
    return facts | {"6g causal in all": masked_all, "6g causal later": masked_later}
