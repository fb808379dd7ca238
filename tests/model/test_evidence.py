"""Evidence against sums that are made one by one."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logirec.model.evidence import Evidence

ITEMS = 12


def evidence_of(table: torch.Tensor, viewed: torch.Tensor) -> Evidence:
    """From dense amounts (2, N, N); a place is kept where either kind has something. `viewed`: (N, N)."""
    kept = (table != 0).any(0)
    owners, targets = kept.nonzero(as_tuple=True)
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), kept.sum(1).cumsum(0)])
    return Evidence(starts, targets.to(torch.int32), table[:, owners, targets], viewed[owners, targets])


def random_table(seed: int, share: float = 0.4) -> torch.Tensor:
    draws = torch.Generator().manual_seed(seed)
    table = torch.randn(2, ITEMS, ITEMS, generator=draws)
    return table * (torch.rand(ITEMS, ITEMS, generator=draws) < share)


@given(st.lists(st.sets(st.integers(0, ITEMS - 1), max_size=5), min_size=1, max_size=6), st.integers(0, 20))
def test_support_is_the_sum_over_the_members(baskets, seed):
    table = random_table(seed, share=seed / 20)
    size = max(1, *map(len, baskets))
    members = torch.tensor([[*basket, *[0] * (size - len(basket))] for basket in baskets])
    present = torch.tensor([[at < len(basket) for at in range(size)] for basket in baskets])
    draws = torch.Generator().manual_seed(seed)
    viewed, unlike = torch.rand(ITEMS, ITEMS, generator=draws) < 0.5, torch.rand(members.shape, generator=draws) < 0.5
    support = evidence_of(table, viewed).of(members, present, unlike)
    expected = torch.zeros(len(baskets), ITEMS)
    for row, basket in enumerate(baskets):
        for item, apart in zip(members[row, : len(basket)].tolist(), unlike[row].tolist(), strict=False):
            expected[row] += table[int(len(basket) > 1), item] * ~(viewed[item] & apart)
    everything = torch.arange(ITEMS).expand(len(baskets), -1)
    torch.testing.assert_close(support.at(everything), expected)
    torch.testing.assert_close(support.add_to(torch.ones(len(baskets), ITEMS)), 1 + expected)
    for row, strongest in enumerate(support.strongest(3).tolist()):
        found = [one for one in strongest if one >= 0]
        supported = np.flatnonzero((table[:, sorted(baskets[row])] != 0).any(0).any(0)) if baskets[row] else []
        assert len(found) == min(3, len(supported))
        if len(found):
            least = min(expected[row, one] for one in found)
            assert all(expected[row, one] <= least + 1e-6 for one in supported if one not in found)


def test_nothing_is_known_of_anything():
    empty = Evidence(torch.zeros(5, dtype=torch.int64), torch.empty(0, dtype=torch.int32), torch.empty(2, 0))
    support = empty.of(torch.tensor([[1, 2]]))
    assert support.at(torch.tensor([[0, 3]])).tolist() == [[0, 0]]
    assert support.add_to(torch.zeros(1, 4)).tolist() == [[0, 0, 0, 0]]
    assert support.strongest(2).tolist() == [[]]


@pytest.mark.parametrize("shapes", [(3, 2, (2, 2)), (3, 3, (2, 2)), (1, 0, (2, 0)), (3, 2, (1, 2))])
def test_parts_that_do_not_fit_are_refused(shapes):
    rows, targets, amounts = shapes
    starts = torch.arange(rows) if rows == 3 else torch.zeros(rows, dtype=torch.int64)
    if shapes == (3, 2, (2, 2)):  # these fit
        Evidence(starts, torch.zeros(targets, dtype=torch.int32), torch.zeros(amounts))
        return
    with pytest.raises(ValueError, match="fit"):
        Evidence(starts, torch.zeros(targets, dtype=torch.int32), torch.zeros(amounts))
