"""The server on this machine.

up_and_down      `muster up` and `muster down`
server_process   finds, starts and stops its process
demo demo_story  `muster demo`, and what happens in it
demo_training    the training that survives there
"""
