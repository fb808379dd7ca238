import logirec


def test_the_public_names_are_these():
    assert logirec.__all__ == ["Dataset", "Relation", "Vocabulary", "__version__", "audit", "prepare"]
    assert all(getattr(logirec, name) is not None for name in logirec.__all__)
