"""Kubernetes as an engine underneath Muster: a gang is one pod on each of its nodes, which runs an agent.

engine      the port
settings    which part of a cluster is used, and how pods are made there
api         requests to the API server, with the official client
watched     a list that is kept current by a watch
objects     what a gang is made of: a service that owns a secret and the pods
script      what a pod runs
nodes       nodes as the cluster has them
quantities  amounts as Kubernetes writes them
gpu_types   what a GPU is called here
pods        one pod: what it uses, and why it does not run any more
gangs       allocations, by their services and pods
"""
