"""The simulated shell: the production engine under a virtual clock, in a world of traces and faults."""
