"""The dashboard as it is served: what `web/` is built into when a package is made, or by `make web`.

files   the built files, in memory, each with its digest and compressed

`built/` is not there when there was no Node.js to build it with.
"""
