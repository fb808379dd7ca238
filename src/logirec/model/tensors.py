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


def slices(count: int, length: int = 8192) -> Iterator[slice]:
    """Of something too large to be copied whole."""
    for start in range(0, count, length):
        yield slice(start, min(start + length, count))
