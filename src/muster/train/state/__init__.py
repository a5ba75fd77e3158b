"""What a training has in memory, and how it becomes files.

state_tree    the user's state taken apart: what is saved for each rank, and what the ranks share
tree_nodes    the tree of a saved state, and the paths in it
torch_state   models and optimizers in names that fit any number of ranks
torch_files   the shared tensors as files, by torch.distributed.checkpoint
rank_file     the file with what belongs to one rank: plain values and arrays, without code in it
shards        arrays of which each rank holds a part
staging       copies of tensors and arrays that are written while training goes on
"""
