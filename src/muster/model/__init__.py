"""The vocabulary: immutable values that every other package speaks in. Imports nothing of Muster's."""
