"""What a node measures about its own health, without ever holding up the supervisor.

prober        measures again and again, and hands values to the supervisor
signal_lines  reads what the command of an operator prints
counters      by how much counters rose lately, and the best speed of an interface
machine       network interfaces, disk, memory and clock, on a thread of its own
nvidia        GPUs of NVIDIA, by their library or by `nvidia-smi`

Only facts are measured here. Whether a node is bad is decided by the control plane.
"""
