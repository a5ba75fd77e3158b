"""Addresses that only this machine can reach."""

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """True when only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    """True for an address, which stands for itself: no name service says what it means."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback_url(url: str) -> bool:
    """The same of whoever listens at an address of the web."""
    return is_loopback(urlsplit(url).hostname or "")
