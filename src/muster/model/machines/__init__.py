"""Which machines there are for whom.

constraint   which nodes a job accepts, by their labels
reservation  nodes that are set aside for a while
quarantine   what a node runs, as it tells a control plane that greets it
ownership    which home's nodes a database governs, and whose commands they obey
lease        by which one of several control planes leads, and for how long
"""
