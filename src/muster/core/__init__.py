"""Pure decisions: no clock, randomness, I/O, logging or environment. Imports `muster.model` only."""
