"""Expressions that users type: values against Python's own, names against all ways to read them, and errors with positions."""

import ast
import math
import pickle
import random
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.data import expression, expression_parser
from copula_discrepancy.data.expression import parse
from tests.data.refusals import refusal

NAMES = ["a", "b", "theta", "theta[1]", "theta[Choate]", "cov[0, 1]", "bill length", "x.y"]
VALUES = np.random.default_rng(1).normal(size=(len(NAMES), 40)).round(2)
COLUMNS = dict(zip(NAMES, VALUES, strict=True))
# how the names are typed, and what stands for them in Python
TYPED = {
    "a": "a",
    "b": "b",
    "theta": "c",
    "theta[1]": "d",
    "cov[0,1]": "e",
    "`bill length`": "f",
    "bill length": "f",
    "x.y": "g",
}
PYTHON = dict(zip("abcdefg", VALUES[[0, 1, 2, 3, 5, 6, 7]], strict=True))
FUNCTIONS = {"abs": abs, "min": min, "max": max, "exp": math.exp, "log": math.log, "sqrt": math.sqrt}


def generated(rng, depth, condition):
    """A random expression as tokens of our language and of Python's, without parentheses that precedence makes needless."""

    def part(kind=False):
        return generated(rng, depth - 1, kind)

    def joined(*parts):
        return tuple([token for piece in parts for token in ((piece,) if isinstance(piece, str) else piece[k])] for k in (0, 1))

    if condition:
        choice = rng.random() if depth > 1 else 0
        if choice < 0.5:
            parts = [part()]
            for _ in range(rng.choice([1, 1, 2, 3])):
                parts += [rng.choice(["<", "<=", ">", ">=", "==", "!="]), part()]
            return joined(*parts)
        if choice < 0.8:
            return joined(part(True), rng.choice(["and", "or"]), part(True))
        return joined("not", part(True)) if choice < 0.9 else joined("(", part(True), ")")
    choice = rng.random() if depth > 0 else 0
    if choice < 0.25:
        if rng.random() < 0.3:
            return joined(rng.choice(["1", ".5", "2.", "3e-1", "0"]))
        typed = rng.choice(list(TYPED))
        return [typed], [TYPED[typed]]
    if choice < 0.55:
        return joined(part(), rng.choice(["+", "-", "*", "/"]), part())
    if choice < 0.65:  # without complex numbers, which Python compares without complaint
        return (
            joined(part(), "**", rng.choice(["2", "3"]))
            if rng.random() < 0.5
            else joined("abs", "(", part(), ")", "**", part())
        )
    if choice < 0.75:
        return joined("-", part())
    if choice < 0.85:
        return joined("(", part(rng.random() < 0.3), ")")
    name = rng.choice(list(FUNCTIONS))
    arguments = [part()]
    for _ in range(rng.choice([1, 2]) if name in ("min", "max") else 0):
        arguments += [",", part()]
    return joined(name, "(", *arguments, ")")


def spaced(rng, tokens):
    """Tokens as text, with spaces where they are needed and where they do no harm."""
    text = ""
    for token in tokens:
        needed = text and re.search(r"[\w.]$", text) and re.match(r"[\w.]", token)
        text += (" " if needed else rng.choice(["", " "])) + token
    return text


def python_value(code, row):
    """The value of a row in Python; None where it has none."""
    try:
        value = eval(code, {"__builtins__": {}}, {**FUNCTIONS, **{name: float(column[row]) for name, column in PYTHON.items()}})
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return value if math.isfinite(value) else None


@pytest.mark.parametrize("condition", [False, True])
def test_values_are_those_of_python(condition):
    rng = random.Random(1)
    compared = counted = 0
    while counted < 400:
        ours, pythons = generated(rng, 4, condition)
        if not set(pythons) & set(PYTHON):
            continue
        text, code = spaced(rng, ours), " ".join(pythons)
        quantity = parse(text, NAMES)
        values, undefined = quantity(COLUMNS), quantity.undefined(COLUMNS)
        assert quantity.is_condition == (values.dtype == bool)
        assert quantity.is_condition or not condition
        assert not (values & undefined).any() if quantity.is_condition else np.array_equal(np.isnan(values), undefined)
        counted += 1
        for row in range(0, VALUES.shape[1], 8):
            expected = python_value(code, row)
            if expected is not None:
                compared += 1
                assert not undefined[row], text
                assert isinstance(expected, bool) or not quantity.is_condition
                assert float(values[row]) == pytest.approx(float(expected), rel=1e-9, abs=1e-12), (
                    text
                )  # exp and ** differ in the last digit
    assert compared > 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-a ** 2", lambda a, b: -(a**2)),
        ("2 ** -a ** 2", lambda a, b: 2 ** -(a**2)),
        ("2 ** a ** b", lambda a, b: 2 ** (a**b)),
        ("a - b - 1", lambda a, b: (a - b) - 1),
        ("a / b / 2", lambda a, b: (a / b) / 2),
        ("a + b * 2", lambda a, b: a + (b * 2)),
        ("a < 1 == b", lambda a, b: (a < 1) & (b == 1)),
        ("0 < a < b", lambda a, b: (a > 0) & (a < b)),
        ("not a > 1 and b > 1", lambda a, b: ~(a > 1) & (b > 1)),
        ("a > 1 or b > 1 and a > b", lambda a, b: (a > 1) | ((b > 1) & (a > b))),
        ("(a > 1) + (b > 1)", lambda a, b: (a > 1).astype(float) + (b > 1)),
        ("-(a > 1)", lambda a, b: -(a > 1).astype(float)),
        ("(a > 1) == (b > 1)", lambda a, b: (a > 1) == (b > 1)),
        ("max(a, b, 1.5)", lambda a, b: np.maximum(np.maximum(a, b), 1.5)),
        ("abs(a > 1)", lambda a, b: (a > 1).astype(float)),
    ],
)
def test_precedence_and_conditions_in_arithmetic(text, expected):
    a, b = (side.ravel() for side in np.meshgrid([0.5, 1.0, 2.0], [1.0, 0.25, 3.0]))
    values = parse(text, ["a", "b"])({"a": a, "b": b})
    np.testing.assert_array_equal(values, expected(a, b))
    assert values.dtype == expected(a, b).dtype


def test_undefined_conditions_do_not_hold():
    columns = {"a": np.array([-1.0, 0.0, 2.0, np.nan])}
    cases = {
        "log(a) > 0": ([False, False, True, False], [True, False, False, True]),
        "not log(a) > 0": ([False, True, False, False], [True, False, False, True]),
        "log(a) != 5": ([False, True, True, False], [True, False, False, True]),
        "a > 0 and log(a) > 0": ([False, False, True, False], [False, False, False, True]),
        "log(a) > 0 and a > 0": ([False, False, True, False], [False, False, False, True]),
        "a < 0 or log(a) > 0": ([True, False, True, False], [False, False, False, True]),
        "0 < a < log(a) + 2": ([False, False, True, False], [False, False, False, True]),
        "1 / a > 5": ([False, True, False, False], [False, False, False, True]),
        "(log(a) > 0) + 1 > 0": ([False, True, True, False], [True, False, False, True]),
    }
    for text, (holds, undefined) in cases.items():
        condition = parse(text, ["a"])
        assert condition(columns).tolist() == holds, text
        assert condition.undefined(columns).tolist() == undefined, text
    quantity = parse("1 / a + log(a)", ["a"])(columns)
    np.testing.assert_array_equal(np.isnan(quantity), [True, True, False, True])
    assert parse("1 / a", ["a"])(columns)[1] == np.inf


def test_a_quantity_has_the_shape_of_its_columns_and_its_own_memory():
    chains = np.arange(6).reshape(2, 3)  # integers
    values = parse("a", ["a"])({"a": chains})
    assert (values.shape, values.dtype) == ((2, 3), np.float64)
    alone = np.ones(3)
    parse("a", ["a"])({"a": alone})[:] = 7
    assert alone.tolist() == [1, 1, 1]
    again = pickle.loads(pickle.dumps(parse("b > a and 0 < b < 2", ["a", "b"])))
    assert again == parse("b > a and 0 < b < 2", ["a", "b"])
    assert again.names == ("b", "a")
    assert refusal("unknown-name", again, {"a": alone})
    assert refusal("shape", again, {"a": alone, "b": np.ones(4)})


@pytest.mark.parametrize(
    ("text", "names", "used"),
    [
        ("theta[1] > theta", NAMES, ["theta[1]", "theta"]),
        ("theta[ Choate ]>0", NAMES, ["theta[Choate]"]),
        ("cov[0,1]+cov[0, 1]", NAMES, ["cov[0, 1]"]),
        ("`cov[0,1]`", NAMES, ["cov[0, 1]"]),
        ("bill length-1", NAMES, ["bill length"]),
        ("x.y*2", NAMES, ["x.y"]),
        ("a - b", ["a", "b", "a-b"], ["a", "b"]),
        ("`a`-b", ["a", "b", "a-b"], ["a", "b"]),
        ("`a-b`", ["a", "b", "a-b"], ["a-b"]),
        ("a-b", ["a", "a-b"], ["a-b"]),  # there is no b
        ("a-b", ["a-b"], ["a-b"]),
        ("ab", ["a", "ab", "abc"], ["ab"]),
        ("log(x)", ["log(x)"], ["log(x)"]),
        ("log (x)", ["x", "log(x)"], ["x"]),
        ("max(max, 1)", ["max"], ["max"]),
        ("(Intercept) > 0", ["(Intercept)"], ["(Intercept)"]),
        ("`1` > 1.0", ["1"], ["1"]),
        ("`or` > 0", ["or"], ["or"]),
        ("order > 0", ["or", "order"], ["order"]),
        ("`x``y`", ["x`y"], ["x`y"]),
        ("x`y", ["x`y"], ["x`y"]),
        ("t[ab] + t[a b]", ["t[a b]", "t[ab]"], ["t[ab]", "t[a b]"]),
        ("größe > θ", ["größe", "θ"], ["größe", "θ"]),
        ("` a` > 0", [" a", "b"], [" a"]),
        ("x0-x1", ["x0", "x1"], ["x0", "x1"]),
        ("(a,b)", ["a", "b", "a,b"], ["a,b"]),  # a comma separates arguments of functions only
    ],
)
def test_names(text, names, used):
    assert parse(text, names).names == tuple(used)


def all_readings(text, names):
    """Every way to split a text into names, numbers and signs that makes an expression, found by trial."""
    found = set()

    def split(place, tokens):
        while text[place : place + 1] == " ":
            place += 1
        if place == len(text):
            code = " ".join(f"v{names.index(token[1])}" if token[0] == "name" else token[1] for token in tokens)
            if valid(code):
                found.add(tuple(tokens))
            return
        for name in names:
            inside = name[-1].isalnum() and text[place + len(name) : place + len(name) + 1].isalnum()
            if text.startswith(name, place) and not inside:
                split(place + len(name), [*tokens, ("name", name)])
        if match := re.compile(r"[0-9]+|\*\*|<|-|\(|\)|and\b").match(text, place):
            split(match.end(), [*tokens, ("sign", match[0])])

    split(0, [])
    return found


def valid(code):
    try:
        nodes = list(ast.walk(ast.parse(code, mode="eval")))
    except SyntaxError:
        return False
    return not any(isinstance(node, ast.Call | ast.Tuple | ast.Starred) for node in nodes)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # "1 (a)" is a call of a number
def test_no_text_with_two_readings_is_accepted():
    rng = random.Random(2)
    outcomes = {"one": 0, "several": 0, "none": 0}
    overcautious, unexplained = 0, []
    for _ in range(4000):
        names = list({"".join(rng.choices("ab1-( )<", k=rng.randint(1, 3))).strip() for _ in range(4)} - {""})
        text = "".join(rng.choice([*names, *"ab1-()< ", "**"]) for _ in range(rng.randint(1, 5)))
        ways = all_readings(text, names)
        try:
            steps = parse(text, names).steps
        except cd.InputError as error:
            # one reading is rejected only if it has no variable, or if another goes wrong later than the parser looks ahead
            outcomes["several" if len(ways) > 1 else "none"] += 1
            usable = len(ways) == 1 and any(kind == "name" for kind, _ in next(iter(ways)))
            overcautious += usable
            unexplained += [(text, names)] * (usable and "can be read as" not in str(error))
            continue
        outcomes["one"] += 1
        assert len(ways) == 1, (text, names, ways)
        used = [step.name for step in steps if isinstance(step, expression_parser.Variable)]
        assert used == [name for kind, name in next(iter(ways)) if kind == "name"], (text, names)
    assert unexplained == []
    assert min(outcomes.values()) > 50, outcomes
    assert overcautious < 0.15 * outcomes["one"]  # names like "-(" and "1<" are rare elsewhere


OWN_NAMES = {  # texts and the variables that they are about
    "a-b > 0": ["a", "b", "a-b"],
    "1 + log(x)": ["x", "log(x)"],
    "-a": ["a", "-a"],
    "not a": ["a", "not a"],
    "(x) > 0": ["x", "(x)"],
    "1 > a": ["a", "1"],
    "a < 1e5": ["a", "1e5"],
    "a < 0.5": ["a", "0.5"],
    "t[a  b]": ["t[a b]", "t[ab]"],
    "a and b": ["a", "b", "a and b"],
    "max(a,b)": ["a", "b", "a,b"],
    "or > 0": ["or"],
    "a > 0 ": [],
}
FAULTS = [  # text, position, code
    ("", None, "expression"),
    (" \t", None, "expression"),
    ("1 > 0", None, "expression"),
    ("a - ", 5, "expression"),
    ("* a", 1, "expression"),
    ("a > +1", 5, "expression"),
    ("2 a", 3, "expression"),
    ("2a", 2, "expression"),
    ("1.2.3 < a", 4, "expression"),
    ("a b", 3, "expression"),
    ("a `b`", 3, "expression"),
    ("a (b)", 3, "expression"),
    ("(a - b", 1, "expression"),
    ("max(a, (b)", 4, "expression"),
    ("a - b)", 6, "expression"),
    ("()", 2, "expression"),
    ("a, b", 2, "expression"),
    ("(a, b)", 3, "expression"),
    ("a > 0,5", 6, "expression"),
    ("abs(a, b)", 1, "expression"),
    ("1 + max(a)", 5, "expression"),
    ("log()", 1, "expression"),
    ("max(a,)", 7, "expression"),
    ("a = b", 3, "expression"),
    ("a => b", 3, "expression"),
    ("a === b", 3, "expression"),
    ("a <> b", 3, "expression"),
    ("a > 0 & b > 0", 7, "expression"),
    ("a > 0 || b > 0", 7, "expression"),
    ("~(a > 0)", 1, "expression"),
    ("a ^ 2", 3, "expression"),
    ("a // 2", 3, "expression"),
    ("a ! b", 3, "expression"),
    ("'a' > 0", 1, "expression"),
    ("theta [1]", 7, "expression"),
    ("a \N{EN DASH} b", 3, "expression"),
    ("a \N{MULTIPLICATION SIGN} b", 3, "expression"),
    ("a\N{SUPERSCRIPT TWO} + 1", 2, "expression"),
    ("a \N{GREATER-THAN OR EQUAL TO} b", 3, "expression"),
    ("a\N{ZERO WIDTH SPACE} > 0", 2, "expression"),
    ("a > 0 and b", 11, "expression"),
    ("a + b or b > 0", 1, "expression"),
    (f"{'a + ' * 20}a or b > 0", 1, "expression"),
    ("not a ", 5, "expression"),
    ("a > 0 AND b > 0", 7, "expression"),
    ("a > 0 not b > 0", 7, "expression"),
    ("1 + not a > 0", 5, "expression"),
    ("a > 0 and and b > 0", 11, "expression"),
    ("1e999 > a", 1, "expression"),
    ("`a > 0", 1, "expression"),
    ("(" * 100_000, 101, "expression"),
    ("-" * 100_000 + "a", 101, "expression"),
    ("not " * 100_000 + "a > 0", 401, "expression"),
    ("a ** " * 100_000 + "a", 501, "expression"),
    (f"{'a + ' * 50}a ? b {'+ a' * 50}", 203, "expression"),
    ("a-b > 0", 1, "expression"),
    ("1 + log(x)", 5, "expression"),
    ("-a", 1, "expression"),
    ("not a", 1, "expression"),
    ("(x) > 0", 1, "expression"),
    ("1 > a", 1, "expression"),
    ("a < 1e5", 5, "expression"),
    ("a < 0.5", 5, "expression"),
    ("t[a  b]", 1, "expression"),
    ("a and b", 1, "expression"),
    ("max(a,b)", 5, "expression"),
    ("or > 0", 1, "expression"),
    ("a > 0 ", 1, "unknown-name"),
    ("a - c", 5, "unknown-name"),
    ("ab > 0", 1, "unknown-name"),
    ("a > 0 or aor b > 0", 10, "unknown-name"),
    ("theta[9] > 0", 1, "unknown-name"),
    ("x.z > 0", 1, "unknown-name"),
    ("1 - `bil length`", 5, "unknown-name"),
    ("1 + ln(a)", 5, "unknown-name"),
    ("np.exp(a)", 1, "unknown-name"),
]


@pytest.mark.parametrize(("text", "position", "code"), FAULTS, ids=range(len(FAULTS)))
def test_faults_and_their_positions(text, position, code):
    message = refusal(code, parse, text, OWN_NAMES.get(text, NAMES))
    found = re.search(r": position ([0-9]+): ", message)
    assert (int(found[1]) if found else None) == position, message
    assert len(message) < 400


@pytest.mark.parametrize("text", [None, 5, b"a > 0", ["a"], np.array(["a"])])
def test_an_expression_is_text(text):
    refusal("argument", parse, text, NAMES)


def test_long_expressions_are_computed():
    columns = {"a": np.ones(2), "b": np.zeros(2)}
    many = 5_000  # Python allows 1,000 calls inside each other
    assert parse(" + ".join(["a"] * many), ["a", "b"])(columns).tolist() == [many, many]
    assert parse(" < ".join(["b", *["a"] * many]), ["a", "b"])(columns).tolist() == [False, False]
    assert parse(" and ".join(["b < a"] * many), ["a", "b"])(columns).tolist() == [True, True]
    assert parse(f"{'(' * 99}a{')' * 99}", ["a"])(columns).tolist() == [1, 1]


def test_any_text_gives_a_value_or_an_input_error():
    rng = random.Random(3)
    words = [
        *NAMES,
        *"+-*/<>=!&|~^%()[],.`'\"0123456789eE _\t\n\\@#$?:;{}",
        "**",
        "<=",
        "and",
        "or",
        "not",
        "max(",
        "log(",
        "1e5",
    ]
    words += [chr(sign) for sign in (0, 0xA0, 0xB2, 0xD7, 0x2013, 0x200B, 0x202E, 0x3B8, 0x661, 0xD800, 0xFF1C, 0x1F600)]
    good, errors = 0, []
    for _ in range(4000):
        text = rng.choice(["", " "]).join(
            rng.choices(words if rng.random() < 0.7 else [*NAMES, *"+-*<()1"], k=rng.randint(0, 9))
        )
        try:
            values = parse(text, NAMES)(COLUMNS)
        except cd.InputError as error:
            errors.append((error.code, "\n" in str(error)))
        else:
            good += 1
            assert values.shape == VALUES[0].shape
    assert good > 100
    assert set(errors) == {("expression", False), ("unknown-name", False)}


@pytest.mark.parametrize("module", [expression, expression_parser])
def test_nothing_typed_is_run_as_code(module):
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not called & {"eval", "exec", "compile", "__import__", "getattr", "globals"}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}
    assert not imported & {"numexpr", "ast", "builtins", "importlib", "pandas"}


def test_every_step_can_be_computed():
    assert set(expression_parser.FUNCTIONS) == set(FUNCTIONS)
    for first, second in product(COLUMNS, ["<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/", "**"]):
        assert parse(f"`{first}` {second} 1", NAMES)(COLUMNS).shape == VALUES[0].shape
