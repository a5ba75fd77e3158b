"""Every error as a problem document (RFC 9457): what was wrong, where, and what to do.

documents   the documents
handlers    from what a route raises to a document
failures    from what nobody expected to a document with an id
concealing  paths of the server, hidden from all but its operator
"""
