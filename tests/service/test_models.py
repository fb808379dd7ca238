"""Another model takes the old one's place: what is swapped, what is refused, and what a request sees of it."""

import contextlib
import http.client
import json
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from logirec.config import recipe
from logirec.fit import train
from logirec.folders import MANIFEST, write_manifest
from logirec.model.artifact import KIND, SCHEMA
from logirec.recommender.recommender import Recommender
from logirec.service.models import Models
from tests.service.worlds import ask, client_of, until


@pytest.fixture
def pointer(trained_folder, tmp_path):
    """Two sound models (one with another card), a corrupt one, and a link to the first."""
    for name in ("one", "broken"):
        shutil.copytree(trained_folder, tmp_path / name)
    weights = tmp_path / "broken" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    manifest = json.loads((tmp_path / "broken" / "manifest.json").read_text())
    (tmp_path / "broken" / "manifest.json").write_text(json.dumps(manifest))  # other bytes: it looks like a new model
    link = tmp_path / "current"
    link.symlink_to("one")
    return link


def point(link, name):
    aside = link.with_name("aside")
    aside.symlink_to(name)
    aside.replace(link)


def test_another_model_behind_the_link_takes_its_place(pointer, leak_free, tmp_path):
    changes = {"model": {"dims": 8, "width": 16}, "training": {"max_steps": 20, "batch": 32}}
    train(leak_free, tmp_path / "two", recipe("default", "hybrid", 1, changes))
    models = Models(pointer)
    before = models.current
    assert not models.refresh()
    point(pointer, "two")
    assert models.refresh()
    assert models.current.sha256 != before.sha256
    assert models.current.recommender.trained.recipe.model.dims == 8
    assert not models.refresh()


def test_what_the_first_request_would_wait_for_is_made_with_the_model(pointer):
    models = Models(pointer)
    assert "_moments" in vars(models.current.recommender.shelf.index)  # the items' covariance, which reasons need


def test_a_corrupt_model_is_refused_once_and_the_old_one_serves(pointer, caplog):
    models = Models(pointer)
    served = models.current
    point(pointer, "broken")
    for _ in range(3):
        assert not models.refresh()
    assert models.current is served
    refusals = [record for record in caplog.records if "refused" in record.message]
    assert len(refusals) == 1
    pointer.unlink()
    assert not models.refresh()  # nothing there: not an error either
    assert models.current is served


def another(folder, name):
    """A copy with another card: another model, as far as anybody can tell."""
    copy = folder.with_name(name)
    shutil.copytree(folder, copy)
    (copy / "README.md").write_text(name)
    manifest = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).unlink()
    write_manifest(copy, KIND, SCHEMA, {key: manifest[key] for key in ("items", "dataset_sha256")})
    return copy


def test_the_service_watches_the_link(pointer):
    with client_of(Models(pointer), reload_seconds=0.01) as client:
        before = client.get("/v1/model").json()["sha256"]
        another(pointer.with_name("one"), "two")
        point(pointer, "two")
        until(lambda: client.get("/v1/model").json()["sha256"] != before)
        assert "logirec_model_swaps_total 1.0" in client.get("/metrics").text


def test_a_link_that_leads_nowhere_is_said_once(pointer, caplog):
    models = Models(pointer)
    point(pointer, "nowhere")
    with caplog.at_level("WARNING"):
        assert not models.refresh()
        assert not models.refresh()
    assert sum("no model to be read" in record.message for record in caplog.records) == 1
    point(pointer, "one")
    assert not models.refresh()  # the one that is served


def test_a_model_that_arrives_file_by_file_is_served_once_it_is_whole(pointer):
    models = Models(pointer)
    whole = another(pointer.with_name("one"), "two")
    weights = (whole / "weights.safetensors").read_bytes()
    (whole / "weights.safetensors").unlink()
    point(pointer, "two")
    assert not models.refresh()
    (whole / "weights.safetensors").write_bytes(weights)
    assert models.refresh()


def test_whatever_goes_wrong_with_a_model_the_old_one_serves(pointer, monkeypatch):
    models = Models(pointer)
    served = models.current

    def broken(*_):
        raise MemoryError

    another(pointer.with_name("one"), "two")
    point(pointer, "two")
    monkeypatch.setattr("logirec.service.models.Recommender.load", broken)
    assert not models.refresh()
    assert models.current is served


def test_titles_are_searched_in_the_model_that_is_served(pointer):
    """Also when its folder is gone: it may be cleared away, or replaced, before the next one is loaded."""
    models = Models(pointer)
    title = models.current.recommender.trained.catalogue.item(3).title
    with client_of(models, reload_seconds=0) as client:
        before = client.get("/v1/items", params={"search": title}).json()
        shutil.rmtree(pointer.with_name("one"))
        after = client.get("/v1/items", params={"search": title})
    assert before["items"]
    assert after.json() == before


# Under load ---------------------------------------------------------------------------------------------------------


class Load:
    """Clients that ask one thing over and over, on connections that they keep; every answer that is wrong is kept."""

    def __init__(self, address, body, right, clients=8):
        self.address, self.body, self.right = address, body, right
        self.answered, self.failed, self.stop = [0] * clients, [], threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def _ask(self, number):
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        with contextlib.closing(connection):
            while not self.stop.is_set():
                try:
                    connection.request("POST", "/v1/recommend", self.body)
                    response = connection.getresponse()
                    found = json.load(response)
                    if [one["item_id"] for one in found.get("recommendations", ())] not in self.right:
                        self.failed.append((response.status, found))
                except (OSError, http.client.HTTPException, ValueError) as error:
                    self.failed.append(error)
                    connection.close()
                self.answered[number] += 1


@pytest.mark.slow
def test_twenty_swaps_under_load_and_no_request_fails(pointer, leak_free, ids):
    folder = pointer.parent
    changes = {"model": {"dims": 8, "width": 16}, "training": {"max_steps": 20, "batch": 32}}
    train(leak_free, folder / "two", recipe("default", "hybrid", 1, changes))
    right = [
        [one.item_id for one in Recommender.load(folder / name).recommend(ids[:2], explain=False)]
        for name in ("one", "two")
    ]
    assert right[0] != right[1]
    command = [sys.executable, "-m", "logirec", "serve", str(pointer), "--port", "0", "--reload-seconds", "0.5"]
    with subprocess.Popen(
        [*command, "--deadline-ms", "60000"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as server:
        host, port = server.stderr.readline().split()[-1].removeprefix("http://").split(":")
        said = []
        reading = threading.Thread(target=lambda: [said.append(line) for line in server.stderr])
        reading.start()

        def told():
            return ask((host, int(port)), "GET", "/v1/model").json()["sha256"]

        body = json.dumps({"basket": list(ids[:2]), "explain": False})
        try:
            with Load((host, int(port)), body, right) as load:
                for number in range(1, 21):
                    before, so_far = told(), list(load.answered)
                    if number == 10:
                        point(pointer, "broken")
                        until(lambda: any("refused" in line for line in said))
                        assert told() == before
                    point(pointer, ("one", "two")[number % 2])
                    if number % 3 == 0:
                        server.send_signal(signal.SIGHUP)
                    until(lambda: told() != before)  # noqa: B023
                    until(lambda: all(now > was for now, was in zip(load.answered, so_far, strict=True)))  # noqa: B023
            counted = ask((host, int(port)), "GET", "/metrics").text
        finally:
            server.terminate()
            reading.join()
    assert load.failed == []
    assert "logirec_model_swaps_total 20.0" in counted
    assert sum("refused" in line for line in said) == 1
    assert server.returncode == 0
