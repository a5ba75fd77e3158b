"""Addresses that only this machine can reach."""

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """True when only this machine can reach this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    """True for a numeric address, which no name service has to resolve."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback_url(url: str) -> bool:
    """True when only this machine can reach the host of this URL."""
    return is_loopback(urlsplit(url).hostname or "")
