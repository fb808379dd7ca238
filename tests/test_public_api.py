import logirec


def test_the_public_names_are_these():
    assert logirec.__all__ == [
        "Dataset",
        "Recommender",
        "Relation",
        "Scorer",
        "TrainedModel",
        "Vocabulary",
        "__version__",
        "audit",
        "evaluate",
        "prepare",
        "recipe",
        "train",
    ]
    assert all(getattr(logirec, name) is not None for name in logirec.__all__)
