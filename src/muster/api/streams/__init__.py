"""Answers that go on.

hub     who watches, and how what was written gets to them
stream  a response that goes on until it is over or the client has gone
places  a bounded number of them
"""
