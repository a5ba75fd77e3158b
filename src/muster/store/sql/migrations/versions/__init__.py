"""One file per change of the schema, in the order of their names. A released one is never edited."""
