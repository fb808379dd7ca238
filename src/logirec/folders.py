"""Folders that appear whole or not at all, with a manifest that says what is in them.

Written under a hidden name beside the target, synced, then renamed into place. The manifest holds the size and
SHA-256 of every file; reading checks them, because neither Parquet nor safetensors notices every flipped byte.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from logirec.errors import ArtifactError, UsageError

MANIFEST = "manifest.json"


@contextmanager
def new_folder(out: Path, kind: str, force: bool) -> Iterator[Path]:
    """A folder to write into; it becomes `out` when the block ends well and vanishes when it does not."""
    check_free(out, kind, force)
    out = out.resolve()  # through a link to where it points
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise UsageError(f"{out}: cannot be written ({error.strerror})") from error
    try:
        work.chmod(0o777 & ~umask())
        yield work
        _sync(work)
        _swap(work, out)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _swap(work: Path, out: Path) -> None:
    if not out.exists() or not any(out.iterdir()):
        work.rename(out)  # over an empty folder too
        return
    old = work.with_suffix(".old")
    out.rename(old)
    try:
        work.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old)


def check_free(out: Path, kind: str, force: bool) -> None:
    """Early, so that nobody waits for an hour to hear it. Force replaces a folder of the same kind and nothing else."""
    if out.is_dir() and out.resolve() == Path.cwd():
        raise UsageError(f"--out {out}: the folder you are in cannot be replaced; name one inside it")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not force:
        raise UsageError(f"{out} exists already; name another --out or add --force to replace it")
    if kind_of(out) != kind:
        raise UsageError(f"{out} is no {kind} folder of logirec's; it is not replaced, even with --force")


def kind_of(folder: Path) -> str | None:
    """What logirec has written there, if it has: other programs have a file of that name too."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    ours = isinstance(manifest, dict) and "manifest_sha256" in manifest
    return str(manifest.get("kind")) if ours else None


def write_manifest(folder: Path, kind: str, schema: int, content: dict[str, Any]) -> None:
    files = {
        str(path.relative_to(folder)): {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    manifest = {"kind": kind, "schema": schema, **content, "files": files}
    manifest["manifest_sha256"] = _own_hash(manifest)
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (folder / MANIFEST).write_text(text, encoding="utf-8")  # ends with its brace: cut short, it cannot be read


def write_aside(path: Path, text: str) -> None:
    """A file that is there whole, old or new, whatever happens in between."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def read_manifest(folder: Path, kind: str, schema: int, verify: bool = True) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        own_hash = manifest.pop("manifest_sha256")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"no readable {MANIFEST}" if folder.exists() else "there is nothing of that name"
        raise ArtifactError(f"{folder}: not a {kind} folder ({why})") from error
    if manifest.get("kind") != kind:
        raise ArtifactError(f"{folder}: a {manifest.get('kind')} folder, where a {kind} is needed")
    if manifest.get("schema") != schema:
        raise ArtifactError(
            f"{folder}: {kind} schema {manifest.get('schema')}, this logirec reads {schema}; make it again"
        )
    if own_hash != _own_hash(manifest):
        raise ArtifactError(f"{folder}: {MANIFEST} is not what was written; make it again")
    for name, expected in manifest["files"].items():
        file = folder / name
        if not file.is_file():
            raise ArtifactError(f"{folder}: {name} is missing; make it again")
        if file.stat().st_size != expected["bytes"] or (verify and sha256(file) != expected["sha256"]):
            raise ArtifactError(f"{folder}: {name} is not what was written (size or SHA-256 differs); make it again")
    return dict(manifest)


def _own_hash(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
