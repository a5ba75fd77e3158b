"""Thin routes, one file per noun: the permission, the input and the answer.

submissions jobs job_changes story  submitting, reading and changing jobs, and their stories
checkpoints measures                what jobs have saved, and what they measure of themselves
logs stacks attach events           output of workers, what they are doing, their terminals, and events
nodes node_health quarantine queue  machines, their health, unknown gangs on them, and totals of the queue
teams rules                         quotas, tiers, pools and the policy
tokens audit                        tokens, and who did what
export health metrics               past jobs as a trace, health, and metrics
error_responses                     how routes describe their errors
"""
