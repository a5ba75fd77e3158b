"""Containers: workers of jobs with an `image`, under the runtime that a node has.

    runtime          the port: what Muster asks of a container runtime, and what a container is
    docker_like      what docker and podman have in common
    podman docker apptainer enroot    one runtime each
    settings         what a control plane says about containers, and which runtimes there are
    inside           what is run in a container: its variables, `setup`, `run`
    images           images, pulled once for all workers that wait for them
    node_containers  the containers of one node: found, started, ended, swept

A node needs no runtime. One that has none says so, and jobs with an image go elsewhere.
"""
