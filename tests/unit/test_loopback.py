import pytest

from muster.loopback import is_loopback, is_loopback_url


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.4.2", "::1"])
def test_what_only_this_machine_can_reach_is_loopback(host: str) -> None:
    assert is_loopback(host)
    assert is_loopback_url(f"http://{f'[{host}]' if ':' in host else host}:8470/v1")


@pytest.mark.parametrize("host", ["", "0.0.0.0", "10.0.0.1", "muster.example", "localhost.example", "2001:db8::1"])
def test_what_others_can_reach_or_cannot_be_read_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)
    assert not is_loopback_url(f"http://{f'[{host}]' if ':' in host else host}:8470/v1")
