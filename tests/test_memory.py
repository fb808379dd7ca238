"""Giving memory back must not change what is in it."""

import torch

from logirec.memory import give_back_memory, page_out
from logirec.model.tensors import read_tensors, write_tensors


def test_pages_that_were_given_back_are_read_again(tmp_path):
    write_tensors({"a": torch.arange(100_000.0), "b": torch.ones(3)}, tmp_path / "t.safetensors")
    mapped, plain = read_tensors(tmp_path / "t.safetensors"), torch.arange(50_000.0)
    for tensor in (*mapped.values(), plain):
        page_out(tensor.data_ptr(), tensor.nbytes)
    give_back_memory()
    assert torch.equal(mapped["a"], torch.arange(100_000.0))
    assert torch.equal(mapped["b"], torch.ones(3))
    assert torch.equal(plain, torch.arange(50_000.0))
