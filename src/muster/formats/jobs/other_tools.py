"""Keys of job files of SkyPilot and dstack, and what is written here instead.

People bring such files along. An unknown key of one of these tools is answered with the key that does the same.
"""

JOB_KEYS = {
    "num_nodes": "as in SkyPilot; write workers: N, and in resources what each of them needs",
    "nodes": "as in dstack; write workers: N, and in resources what each of them needs",
    "accelerators": "as in SkyPilot; write resources: {gpus: 8, gpu_type: h100}",
    "envs": "as in SkyPilot; write env: {KEY: value}",
    "commands": "as in dstack; write run: with one command to a line",
    "file_mounts": "as in SkyPilot; write the path in the command, with an image mounts: [{from: /data, to: /data}]",
    "volumes": "as in dstack; write the path in the command, with an image mounts: [{from: /data, to: /data}]",
    "working_dir": "as in dstack; write workdir: with an absolute path",
    "repos": "as in dstack; fetch the code in setup",
    "type": "as in dstack; every file here is a task; interactive: {} gives a terminal",
    "max_price": "as in dstack; a team's limit and its budget are set by an operator",
    "spot_policy": "as in dstack; a job with a checkpoint may run on spot nodes",
    "use_spot": "as in SkyPilot; a job with a checkpoint may run on spot nodes",
    "job_recovery": "as in SkyPilot; write retry: {limit: 3}; faults of the infrastructure are always retried",
    "stop_criteria": "as in dstack; write max_duration",
    "idle_duration": "as in dstack; write interactive: {idle_timeout: 30m}",
}
RESOURCE_KEYS = {
    "accelerators": "as in SkyPilot; H100:8 is gpus: 8, gpu_type: h100",
    "instance_type": "as in SkyPilot; write gpus, gpu_type, cpus and memory",
    "disk_size": "as in SkyPilot; write disk: 1TiB",
    "shm_size": "as in dstack; shared memory is not limited apart from memory",
    "use_spot": "as in SkyPilot; a job with a checkpoint may run on spot nodes",
    "cloud": "as in SkyPilot; jobs run on the nodes of this cluster",
    "infra": "as in SkyPilot; jobs run on the nodes of this cluster",
    "region": "as in SkyPilot; write topology: {within: LEVEL}",
    "any_of": "as in SkyPilot; write gpu_type: [h100, a100], preferred first",
    "ordered": "as in SkyPilot; write gpu_type: [h100, a100], preferred first",
}
