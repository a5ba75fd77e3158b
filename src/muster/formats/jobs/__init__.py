"""Job files.

job_wire      what a job file may hold, key by key: the declaration
job_file      a job file -> `JobSpec`
job_document  `JobSpec` -> a job file
"""
