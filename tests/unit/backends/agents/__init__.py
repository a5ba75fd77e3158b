"""Unit tests of the same part of Muster."""
