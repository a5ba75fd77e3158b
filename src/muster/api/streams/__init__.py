"""Streamed answers.

hub           the watchers, and how new events get to them
stream        a response that is sent in chunks until it ends or the client disconnects
stream_limit  limits the number of streams
"""
