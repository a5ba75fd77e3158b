"""Migrations from the schemas of older versions of Muster."""
