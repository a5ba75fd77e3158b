"""A Kubernetes for the tests: an API server that is pretended, or a real one, and kubelets that run pods as processes.

The same tests ran against a real control plane (1.37). The pretended server differs: watches are told of progress
every half second and not every minute, nodes are missed after 5 s and not after 43 s, objects are not completed with
the defaults of their kind, only what these tests ask is validated, and quotas need no status.

store        objects with versions, changes that can be watched, finalizers, owners
controllers  what binds pods, collects garbage and misses nodes
api_server   the same over HTTP
client       requests of kubelets and of tests
kubelet      runs the pods of a node on this machine
cluster      all of it together
"""
