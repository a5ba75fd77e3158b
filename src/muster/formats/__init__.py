"""Files and answers <-> model values. Knows the model and nothing else of Muster."""
