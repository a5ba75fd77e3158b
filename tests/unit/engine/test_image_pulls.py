"""What the pull of an image is for its job."""

from muster.model.events import ImagePulled
from muster.model.ids import NodeName
from tests.unit.engine.test_telling import JOB, started, submitted, texts


def test_an_image_that_was_pulled_is_told_with_the_slowest_node() -> None:
    pulls = [
        ImagePulled(at_ms=5, job=JOB, attempt=1, node=NodeName(node), image="train:1", took_ms=took_ms)
        for node, took_ms in (("n1", 3_400), ("n2", 48_000), ("n3", 9_000))
    ]
    said = texts(submitted(), started(), *pulls)
    assert said[2:] == ["pulled train:1 on n1 in 3 s", "pulled train:1 on n2 in 48 s"]
