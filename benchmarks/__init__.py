"""How fast Muster decides. Run with `make bench`."""
