"""The local backend: a detached supervisor for each node of this machine, and one thread that talks to them.

It talks to supervisors elsewhere as well: through agents, and in allocations of engines (`backends/allocations`).

backend                                the port: commands in, reports out
worker_routing dispatching             which worker is on which node, and what each node is sent
meeting                                where the workers of a gang meet
training                               what is said about training, and what trainings left
node_links link                        the links to all nodes; one node's supervisor, and what is said to it
local_link starting                    a supervisor of this machine: found, started, replaced
agent_link                             one on another machine, whose agent connects
node_settings                          what nodes measure, and how they run containers
handshake                              what a supervisor says about itself
silence_limit backlog                  how long to wait for it, and the commands it has not acknowledged
reporting                              what is reported to the control plane
report_queue report_numbers            reports that were not polled yet, and how far those of each node have come
sweeping ending                        end what a dead supervisor left, or supervisors with everything they run
ownership takeover                     who owns the nodes, and whether a control plane may lead them
inventory                              this machine as nodes
attachment                             a user at the terminal of a worker
job_files logs pruning                 what jobs left on this machine, what they printed, and how old output is dropped
step_files                             which steps batch jobs had
"""
