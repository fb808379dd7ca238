"""The query language: one form for all ways of writing, and errors that point at the place."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logirec.config import MAX_BASKET
from logirec.errors import QueryError
from logirec.query import (
    MAX_BRANCHES,
    MAX_DEPTH,
    MAX_LITERALS,
    MAX_TEXT,
    all_of,
    any_of,
    asked_for,
    branches,
    complement,
    from_json,
    items_of,
    negated,
    parse,
    substitute,
    to_json,
)

ids = st.text(min_size=1, max_size=8) | st.sampled_from(["A", "B", "C", "complement", "~", '"', "\\", "a b"])
linked = st.builds(complement, st.lists(ids, min_size=1, max_size=4)) | st.builds(
    substitute, st.lists(ids, min_size=1, max_size=4)
)
queries = st.recursive(
    linked,
    lambda inner: (
        st.builds(negated, inner)
        | st.builds(all_of, st.lists(inner, min_size=1, max_size=3))
        | st.builds(any_of, st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=8,
)


@given(queries)
def test_any_query_comes_back_from_text_and_json(query):
    assert parse(str(query)) == query
    assert from_json(to_json(query)) == query


@given(st.text())
def test_any_text_is_a_query_or_an_error_that_points_into_it(text):
    try:
        query = parse(text)
    except QueryError as error:
        found = error
    else:
        assert parse(str(query)) == query
        return
    assert found.at is not None
    assert 0 <= found.at <= len(text)
    assert "\n" not in str(found)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["and", "or", "not", "complement", "substitute", "x"]), inner, max_size=2)
    ),
    max_leaves=10,
)


@given(json_values)
def test_any_json_is_a_query_or_an_error(value):
    try:
        query = from_json(value)
    except QueryError:
        return
    assert from_json(to_json(query)) == query


@given(queries, st.sets(st.sampled_from("ABCDEFGH")))
def test_branches_say_the_same_as_the_query(query, chosen):
    """Whatever holds: a world is which of the query's linked sets an item belongs to."""

    def leaves(part):
        inside = getattr(part, "parts", None) or ([part.part] if hasattr(part, "part") else [])
        return {leaf for each in inside for leaf in leaves(each)} if inside else {part}

    def holds(part, world):
        match type(part).__name__:
            case "Linked":
                return part in world
            case "Not":
                return not holds(part.part, world)
            case "And":
                return all(holds(each, world) for each in part.parts)
        return any(holds(each, world) for each in part.parts)

    try:
        found = branches(query)
    except QueryError as error:
        if "opposite" not in str(error):
            return
        found = []
    named = sorted(leaves(query))[:6]
    for size in range(len(named) + 1):
        for world in itertools.combinations(named, size):
            expected = holds(query, set(world))
            assert expected == any(all((lit.linked in world) != lit.negated for lit in branch) for branch in found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("complement(A & B)", "complement( B&A & A )"),
        ("complement(A) & ~substitute(A)", "~substitute(A) & complement(A) & complement(A)"),
        ("complement(A) | complement(B)", "(complement(B)) | (complement(A))"),
        ("~~complement(A)", "complement(A)"),
        ("complement(A) & (complement(B) & complement(C))", "complement(C) & complement(A) & complement(B)"),
        ('complement("A")', "complement(A)"),
    ],
)
def test_order_repeats_brackets_and_quotes_do_not_matter(one, other):
    assert parse(one) == parse(other)
    assert str(parse(one)) == str(parse(other))


def test_and_binds_before_or():
    query = parse("complement(A) & complement(B) | complement(C)")
    assert query == any_of([all_of([complement("A"), complement("B")]), complement("C")])
    assert str(parse("complement(A) & (complement(B) | complement(C))")) != str(query)


def test_what_a_basket_asks_by_itself():
    assert str(asked_for(["A", "A"])) == "complement(A) & ~substitute(A)"
    assert str(asked_for(["B", "A"])) == "complement(A & B)"
    assert items_of(parse("complement(B) & ~substitute(A & C)")) == ("A", "B", "C")


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("", 0, "nothing is asked"),
        ("   ", 0, "nothing is asked"),
        ("complement", 10, "the end where ( should be"),
        ("complement(", 11, "id should be"),
        ("complement()", 11, "')' where an item's id"),
        ("complement(A", 12, "the end where )"),
        ("complement(A))", 13, "')' where & or |"),
        ("complement(A) complement(B)", 14, "where & or |"),
        ("complement(A) &", 15, "the end where complement"),
        ("buy(A)", 0, "'buy' where complement"),
        ("complement(A | B)", 13, "'|' where )"),
        ("complement(A) & ~", 17, "the end"),
        ("complement(A, B)", 12, "','"),
        ('complement("A)', 11, "quotation mark"),
        ('complement("")', 11, "id should be"),
    ],
)
def test_an_error_points_at_the_place(text, at, words):
    with pytest.raises(QueryError) as error:
        parse(text)
    assert error.value.at == at
    assert words in str(error.value)
    assert f"character {at + 1}" in str(error.value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"complement": []},
        {"complement": "A"},
        {"complement": [1]},
        {"complement": [""]},
        {"and": []},
        {"and": {"complement": ["A"]}},
        {"xor": []},
        {"complement": ["A"], "substitute": ["B"]},
        {"not": None},
    ],
)
def test_json_that_is_no_query(value):
    with pytest.raises(QueryError):
        from_json(value)


def test_limits_hold_at_their_number():
    brackets = lambda n: "(" * n + "complement(A)" + ")" * n  # noqa: E731
    assert parse(brackets(MAX_DEPTH - 1)) == complement("A")
    with pytest.raises(QueryError, match="inside each other"):
        parse(brackets(MAX_DEPTH))
    nested = lambda n: {"not": nested(n - 1)} if n else {"complement": ["A"]}  # noqa: E731
    from_json(nested(MAX_DEPTH))
    with pytest.raises(QueryError, match="inside each other"):
        from_json(nested(MAX_DEPTH + 1))
    many = lambda n: complement(str(i) for i in range(n))  # noqa: E731
    assert branches(many(MAX_BASKET))
    with pytest.raises(QueryError, match=f"at most {MAX_BASKET}"):
        branches(many(MAX_BASKET + 1))
    either = lambda n: any_of(complement([str(i)]) for i in range(n))  # noqa: E731
    assert len(branches(either(MAX_BRANCHES))) == MAX_BRANCHES
    with pytest.raises(QueryError, match="alternatives"):
        branches(either(MAX_BRANCHES + 1))
    with pytest.raises(QueryError, match="alternatives"):  # 2 ** 20, never made
        branches(all_of(any_of([complement([f"a{i}"]), complement([f"b{i}"])]) for i in range(20)))
    nots = lambda n: all_of([complement("A"), *(negated(substitute([str(i), str(j)])) for i, j in pairs(n))])  # noqa: E731
    pairs = lambda n: list(itertools.combinations(range(40), 2))[:n]  # noqa: E731
    assert len(branches(nots(MAX_LITERALS - 1))[0]) == MAX_LITERALS
    with pytest.raises(QueryError, match=f"{MAX_LITERALS + 1} parts.* at most {MAX_LITERALS}"):
        branches(nots(MAX_LITERALS))
    half = MAX_LITERALS // 2  # what stands outside of the alternatives is in each of them
    with pytest.raises(QueryError, match="parts"):
        branches(all_of([any_of([complement("B"), complement("C")]), nots(half)]))
    assert parse("complement(A)" + " " * (MAX_TEXT - 13)) == complement("A")
    with pytest.raises(QueryError, match="characters"):
        parse("complement(A)" + " " * (MAX_TEXT - 12))


def test_an_alternative_that_cannot_be_is_left_out():
    found = branches(parse("complement(A) & ~(complement(A) & substitute(A))"))
    assert found == branches(parse("complement(A) & ~substitute(A)"))
    for text in ("complement(A) & ~complement(A)", "complement(A) & ~(complement(A) | substitute(A))"):
        with pytest.raises(QueryError, match="opposite"):
            branches(parse(text))


@pytest.mark.parametrize(
    "text", ["~complement(A)", "complement(A) | ~substitute(A)", "~(complement(A) | complement(B))"]
)
def test_every_branch_asks_for_something(text):
    with pytest.raises(QueryError, match="only says what is not wanted"):
        branches(parse(text))
