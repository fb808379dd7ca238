import pytest

from logirec.service.models import Models
from tests.service.worlds import client_of


@pytest.fixture(scope="session")
def models(trained_folder):
    return Models(trained_folder)


@pytest.fixture(scope="session")
def ids(models):
    return models.current.recommender.shelf.vocabulary.item_ids


@pytest.fixture(scope="module")
def client(models):
    with client_of(models) as client:
        yield client
