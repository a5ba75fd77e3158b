"""Job files.

job_values    values that are more than text or a number
container_values  the image, and what its containers see of the node
job_wire      what a job file may hold, key by key: the declaration
other_tools   keys of other tools, and what is written here instead
job_file      a job file -> `JobSpec`
job_document  `JobSpec` -> a job file
"""
