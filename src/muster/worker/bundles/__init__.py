"""Bundles: the files of a working directory as they were when a job was submitted, stored by content.

manifest    which files a bundle has, and what each is made of
store       blocks and manifests in a folder, apart for each team
collecting  removes what no job needs any more
unpacking   from a bundle to a working copy; also a program, for the first process of a worker
fetching    the same on a machine where the bundle is not stored

Only the standard library is used, because workers load this with an interpreter that has nothing else.
"""
