"""How a database of an older Muster becomes one of this Muster."""
