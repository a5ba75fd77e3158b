"""Every error as a problem document (RFC 9457): what was wrong, where, and what to do.

documents   the documents
handlers    from an exception of a route to a document
failures    from an unexpected exception to a document with an id
concealing  hides paths of the server from all but its operator
"""
