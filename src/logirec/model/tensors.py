"""Named tensors in a file, with safetensors' errors as ours.

What is read is mapped: a page of the file takes memory when it is looked at.
"""

from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from logirec.errors import ArtifactError, ResourceError
from logirec.folders import umask
from logirec.memory import page_out


def write_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    try:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:  # its way of saying that the disk is full
        raise ResourceError(f"{path.name} cannot be written ({error}); make room and --resume") from error
    path.chmod(0o666 & ~umask())  # safetensors keeps it to its owner; a model is for whoever serves it


def read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ArtifactError(f"{path}: cannot be read ({error})") from error


def let_go(mapped: Tensor) -> None:
    """The memory of what was read. For mapped tensors alone: others would go to the swap."""
    if mapped.device.type == "cpu":
        page_out(mapped.data_ptr(), mapped.nbytes)


def slices(count: int, length: int = 2048) -> Iterator[slice]:
    """Of something too large to be copied whole."""
    for start in range(0, count, length):
        yield slice(start, min(start + length, count))
