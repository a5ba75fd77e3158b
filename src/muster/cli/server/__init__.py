"""The server on this machine.

up_and_down      `muster up` and `muster down`
server_process   its process: found, started, stopped
demo demo_story  `muster demo`, and what it runs
"""
