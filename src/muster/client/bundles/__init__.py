"""Bundles on the side of the submitter.

listing    which files of a folder belong to its bundle
origin     the commit that a folder was taken from, and the difference to it
packing    from a folder to a bundle, in memory only as far as its names
workdirs   what a submission does about the working directory of its job
uploading  to the server, as far as it does not have it
"""
