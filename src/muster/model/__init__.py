"""The vocabulary: immutable values that every other package uses. Imports nothing else of Muster.

records ids resources             what values are made of, names, and amounts
plain_struct                      what records are made of on nodes that have nothing but Python
spec                              what a user asks for
job array checkpoint              a job and an array during their life, and what a job has saved
node team policy                  the machines, the team tree, and what an operator configures
machines                          which machines there are for whom, and what they say they run
scenario trace                    a whole situation, and a workload to replay
plan                              the outcome of one cycle
events requests reports           what happened; what users ask of a job, and what a node reports
telemetry                         what nodes measure, and verdicts on it
instructions                      what must be done about it
access audit                      who may do what, and who did what
saved_state                       all that an engine knows
closed_rules                      rules as a server keeps them
errors printable                  what is raised on purpose; foreign text made safe to print, and times for people
limits client_limits node_limits  every bound with its reason
compiling                         marks for the compiler
"""
