"""Where commands print and read.

options amounts completion  options that several commands have, amounts, and what TAB offers
plain_values                words that are taken as they were typed
listing                     where commands stand in the help
connection                  the connection to the server
screen console text         tables, JSON and messages; control characters in texts written out
exits interruptions         what exit codes say, and what Ctrl-C means
raw_terminal                the terminal of an interactive job
"""
