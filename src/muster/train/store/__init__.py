"""Where checkpoints are kept: hot tiers on nodes, and durable storage.

steps       the folders of checkpoints, one for each step
parts       the list of files of one rank, and the manifest of a whole checkpoint
stores      folders and object storage with checkpoints
places      where checkpoints of a run are, and verified copies of their files
claims      one training at a time in a folder
replacing   a step that is saved again beside the one that is there
retention   which checkpoints are kept
uploads     one checkpoint sent to durable storage
inventory   which checkpoints there are, and whether they are whole
"""
