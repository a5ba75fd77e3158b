"""Where commands print and read.

options amounts completion  options that several commands have, amounts, and what TAB offers
connection                  the way to the server
screen text                 tables, JSON and messages; texts of others made safe
exits                       what exit codes say
raw_terminal                the terminal of an interactive job
"""
