"""How fast Muster is, and how well it decides. Run with `make bench` and `make proof`."""
