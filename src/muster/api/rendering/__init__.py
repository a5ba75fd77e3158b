"""From model values to what is sent, one file per noun. Whoever calls has checked who may see it."""
