import json

import numpy as np
import pytest

from logirec.data.demo_shop import FAMILY, DemoShop
from logirec.errors import UsageError
from tests.data import oracle


def test_same_seed_same_shop_other_seed_other_shop(tmp_path):
    def written(name, seed):
        shop = DemoShop(300, seed)
        shop.write_products(tmp_path / name)
        shop.write_orders(tmp_path / f"{name}.o")
        shop.write_views(tmp_path / f"{name}.v")
        return [(tmp_path / f).read_bytes() for f in (name, f"{name}.o", f"{name}.v")]

    assert written("a", 1) == written("b", 1)
    assert all(x != y for x, y in zip(written("a", 1), written("c", 2), strict=True))


@pytest.mark.parametrize("items", [199, 10_000_001])
def test_sizes_are_limited(items):
    with pytest.raises(UsageError):
        DemoShop(items)


@pytest.mark.parametrize("items", [200, 2_000, 10_000_000])
def test_ids_are_a_permutation_at_any_size(items):
    shop = DemoShop(items, 3)
    numbers = np.unique(np.concatenate([np.arange(100), np.arange(shop.items - 100, shop.items)]))
    ids = shop.item_ids(numbers)
    assert len(set(ids)) == len(numbers)
    assert all(0 <= int(i[1:]) < shop.items for i in ids)


def test_blocks_do_not_depend_on_the_size_of_memory(shop):
    """The largest shop starts like any: only a block of it is ever made."""
    source, target, _ = next(DemoShop(10_000_000, 0).link_blocks())
    assert source.max() < 500 * FAMILY
    assert target.max() < 10_000_000


def test_titles_are_distinct_and_categories_named(shop):
    products = [json.loads(line) for line in shop.products.read_text().splitlines()]
    assert len({p["title"] for p in products}) == len(products)
    assert all(len(p["category"]) == 2 for p in products)


def test_direction_substitutes_and_sets_are_in_the_links(shop):
    links = oracle.raw_links(shop.products)
    forward = backward = viewed = bought = 0
    for planted in shop.shop.planted_singles(20):
        (head,) = planted.basket
        forward += sum((head, c) in links["buy"] for c in planted.complements)
        backward += sum((c, head) in links["buy"] for c in planted.complements)
        viewed += sum((head, s) in links["view"] for s in planted.substitutes)
        bought += sum((head, s) in links["buy"] for s in planted.substitutes)
    assert forward > 100 > 15 > backward
    assert viewed > 45 > 15 > bought
    found = extra = 0
    everything = oracle.targets(links["buy"])
    for planted in shop.shop.planted_sets(20):
        common = set.intersection(*(everything[m] for m in planted.basket))
        found += len(common & set(planted.complements))
        extra += len(common - set(planted.complements))
    assert found > 28
    assert extra < 6


def test_sets_predict_in_the_orders_what_no_single_item_does(shop):
    orders = [items for _, items in oracle.orders_of(shop.orders)]
    with_both, alone = [], []
    for planted in shop.shop.planted_sets(20):
        wanted, basket = planted.complements[0], set(planted.basket)
        with_both += [wanted in items for items in orders if basket <= items]
        alone += [wanted in items for items in orders if basket & items and not basket <= items]
    assert np.mean(with_both) > 0.75
    assert np.mean(alone) < 0.1


def test_popularity_is_skewed(shop):
    links = oracle.raw_links(shop.products)["buy"]
    counts = sorted((len(v) for v in oracle.targets((t, s) for s, t in links).values()), reverse=True)
    assert sum(counts[: len(counts) // 10]) > 0.2 * sum(counts)
