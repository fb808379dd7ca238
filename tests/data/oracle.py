"""Slow and obvious: what the query sets must be, by loops over sets. The product's own code is not used here."""

import csv
import json
import math
from collections import defaultdict
from itertools import combinations

Pair = tuple[int, int]


def raw_links(products_path):
    """{"buy": {(a, b)}, "view": {(a, b)}} of a JSON-lines file, self links left out."""
    links = {"buy": set(), "view": set()}
    for line in products_path.read_text().splitlines():
        product = json.loads(line)
        for word in links:
            links[word] |= {(product["asin"], t) for t in product[f"also_{word}"] if t != product["asin"]}
    return links


def orders_of(path):
    """[(order, {items})] in file order."""
    orders = defaultdict(set)
    with path.open() as file:
        for row in csv.DictReader(file):
            orders[row["order_id"]].add(row["item_id"])
    return list(orders.items())


def targets(links):
    out = defaultdict(set)
    for source, target in links:
        out[source].add(target)
    return out


def low_queries(held_out: set[Pair], known: set[Pair], views: set[Pair]):
    """{(q,): ({answer: hardness}, {known})}"""
    answers, known_of = targets(held_out - views), targets(known - views)
    return {(q,): (dict.fromkeys(found, 1), known_of[q]) for q, found in answers.items()}


def connected(members, known: set[Pair]) -> bool:
    members = list(members)
    reached, todo = {members[0]}, [members[0]]
    while todo:
        at = todo.pop()
        for other in members:
            if other not in reached and ((at, other) in known or (other, at) in known):
                reached.add(other)
                todo.append(other)
    return len(reached) == len(members)


def high_queries(size: int, held_out: set[Pair], known: set[Pair], train: bool):
    """Every set of the size that is connected by known links and has a held-out answer (at train: any answer)."""
    everything = targets(known | held_out)
    queries = {}
    # Members must share an answer: look only at combinations of the items that link to one.
    linking = defaultdict(set)
    for source, target in known | held_out:
        linking[target].add(source)
    candidates = {c for sources in linking.values() for c in combinations(sorted(sources), size)}
    for members in candidates:
        if not connected(members, known):
            continue
        common = set.intersection(*(everything[m] for m in members))
        hardness = {a: sum((m, a) not in known for m in members) for a in common}
        wanted = {a: h for a, h in hardness.items() if train or h > 0}
        if wanted:
            queries[members] = (wanted, set() if train else {a for a, h in hardness.items() if h == 0})
    return queries


def order_links(baskets, rules):
    """{(i, j): P(j|i)} of a list of item sets."""
    n = len(baskets)
    single, pair = defaultdict(int), defaultdict(int)
    for items in baskets:
        for item in items:
            single[item] += 1
        for two in combinations(sorted(items), 2):
            pair[two] += 1
    found = defaultdict(list)
    for (i, j), both in pair.items():
        if both < rules.min_support or both * n <= single[i] * single[j]:
            continue
        llr = log_likelihood_ratio(both, single[i], single[j], n)
        if llr >= rules.min_llr:
            for a, b in ((i, j), (j, i)):
                chance = both / single[a]
                if chance >= rules.min_confidence:
                    found[a].append((-chance, -llr, b))
    return {(a, b): -chance for a, rows in found.items() for chance, _, b in sorted(rows)[: rules.top_links]}


def log_likelihood_ratio(both, first, second, n):
    """2 * sum over the four cells of observed * log(observed / expected)."""
    cells = [
        (both, first * second),
        (first - both, first * (n - second)),
        (second - both, (n - first) * second),
        (n - first - second + both, (n - first) * (n - second)),
    ]
    return 2 * sum(seen * math.log(seen * n / product) for seen, product in cells if seen)
