"""A real training that is killed again and again, and must end with the losses of one that was left alone."""
