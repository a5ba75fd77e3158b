"""Where agents connect to, and where they do not."""

import pytest

from muster.worker.agent.tunnel import CannotOpen, check_url


@pytest.mark.parametrize("url", ["https://muster.example:8470", "http://127.0.0.1:8470", "http://localhost"])
def test_agents_connect_over_tls_or_inside_one_machine(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://muster.example:8470", "would show the token to the network"),
        ("http://10.0.0.1", "would show the token to the network"),
        ("muster.example", "is not the address of a server"),
        ("ftp://muster.example", "is not the address of a server"),
        ("https://", "is not the address of a server"),
    ],
)
def test_a_token_is_never_sent_in_the_clear(url: str, says: str) -> None:
    with pytest.raises(CannotOpen, match=says):
        check_url(url)
