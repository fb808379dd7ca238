"""Evidence: what counts of things bought together say of a basket, beside what the model makes of it.

    score(j | basket)  =  the model's own  +  sum over members m of amounts[m, j]

One sparse table, of a few hundred items a member: an item that no member has anything to do with has no evidence. The
amounts differ between baskets of one item and of several, since a set calls for what all of it supports. Where the
substitutes of a member are not wanted, what it says for those that are known (viewed with it) does not count.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence


class Evidence(nn.Module):
    starts: Tensor  # (N + 1,)
    targets: Tensor  # (E,) ascending within a row
    amounts: Tensor  # (2, E) for one item alone, for each of several
    viewed: Tensor  # (E,) whether the target is a known substitute of the row's item

    def __init__(self, starts: Tensor, targets: Tensor, amounts: Tensor, viewed: Tensor | None = None) -> None:
        super().__init__()
        viewed = torch.zeros(len(targets), dtype=torch.bool) if viewed is None else viewed
        if (
            len(starts) < 2
            or int(starts[-1]) != len(targets)
            or amounts.shape != (2, len(targets))
            or viewed.shape != targets.shape
        ):
            raise ValueError("evidence that does not fit together")
        for name, tensor in (("starts", starts), ("targets", targets), ("amounts", amounts), ("viewed", viewed)):
            self.register_buffer(name, tensor, persistent=False)  # kept in a file of its own

    @property
    def items(self) -> int:
        return len(self.starts) - 1

    def tensors(self) -> dict[str, Tensor]:
        return dict(self.named_buffers())

    def of(
        self,
        members: Tensor,
        present: Tensor | None = None,
        unlike: Tensor | None = None,
        several: Tensor | None = None,
    ) -> "Support":
        """For baskets (B, M), whose places `present` (B, M) hold an item; no substitutes of those `unlike` (B, M).

        `several` (B,): the amounts are those of an item among several, though it may be alone; default: where it is."""
        present = torch.ones_like(members, dtype=torch.bool) if present is None else present
        return Support(self, members, present, unlike, present.sum(1) > 1 if several is None else several)


class Support:
    """The evidence for a batch of baskets."""

    def __init__(
        self, evidence: Evidence, members: Tensor, present: Tensor, unlike: Tensor | None, several: Tensor
    ) -> None:
        self.evidence, self.members, self.present, self.unlike = evidence, members, present, unlike
        self.several = several.long()  # (B,)

    def add_to(self, table: Tensor) -> Tensor:
        """To the scores (B, N) of all items, in place."""
        owners, rows, amounts = self._entries()
        table.view(-1).index_add_(0, owners * table.shape[1] + rows, amounts.to(table))
        return table

    def at(self, rows: Tensor) -> Tensor:
        """(B, K): of each basket's own items (B, K). Each is looked for in every member's targets."""
        starts, targets = self.evidence.starts[self.members], self.evidence.targets
        if not len(targets):
            return torch.zeros(rows.shape, device=rows.device)
        lengths = torch.where(self.present, self.evidence.starts[self.members + 1] - starts, 0)
        along = torch.arange(int(lengths.max()), device=rows.device)
        mine = targets[(starts[:, :, None] + along).clamp(max=len(targets) - 1)]  # (B, M, L)
        mine.masked_fill_(along >= lengths[:, :, None], torch.iinfo(targets.dtype).max)
        wanted = rows.to(targets.dtype)[:, None].expand(-1, self.members.shape[1], -1).contiguous()
        place = torch.searchsorted(mine, wanted)
        there = place < lengths[:, :, None]
        place = (starts[:, :, None] + place).clamp(max=len(targets) - 1)
        there &= targets[place] == wanted
        if self.unlike is not None:
            there &= ~(self.unlike[:, :, None] & self.evidence.viewed[place])
        return (self.evidence.amounts[self.several[:, None, None], place] * there).sum(1)

    def strongest(self, count: int | None = None, forbidden: Tensor | None = None) -> Tensor:
        """(B, M) the rows with the most evidence, or all, of those that are not forbidden (N,); -1 where there are
        fewer. For indexes that do not see all items."""
        owners, rows, _ = self._entries()
        found = []
        for basket in range(len(self.members)):
            mine = torch.tensor(sorted(set(rows[owners == basket].tolist())), dtype=torch.int64, device=rows.device)
            if forbidden is not None:
                mine = mine[~forbidden[mine]]
            if count is not None and len(mine) > count:
                mine = mine[self.some(torch.tensor([basket])).at(mine[None])[0].topk(count).indices]
            found.append(mine)
        return pad_sequence(found, batch_first=True, padding_value=-1)

    def some(self, baskets: Tensor) -> "Support":
        unlike = None if self.unlike is None else self.unlike[baskets]
        return Support(self.evidence, self.members[baskets], self.present[baskets], unlike, self.several[baskets])

    def _entries(self) -> tuple[Tensor, Tensor, Tensor]:
        """Owner, row and amount of all that the members have evidence for; a row may occur once for each member."""
        baskets, places = self.present.nonzero(as_tuple=True)
        members = self.members[baskets, places]
        starts = self.evidence.starts[members]
        lengths = self.evidence.starts[members + 1] - starts
        owners = baskets.repeat_interleave(lengths)
        before = lengths.cumsum(0) - lengths
        at = torch.arange(len(owners), device=owners.device) + (starts - before).repeat_interleave(lengths)
        amounts = self.evidence.amounts[self.several[owners], at]
        if self.unlike is not None:
            amounts = amounts * ~(self.unlike[baskets, places].repeat_interleave(lengths) & self.evidence.viewed[at])
        return owners, self.evidence.targets[at].long(), amounts
