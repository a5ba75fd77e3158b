"""Addresses that only this machine can reach."""

import ipaddress


def is_loopback(host: str) -> bool:
    """True when only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
