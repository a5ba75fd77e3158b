"""Thin routes, one file per noun: who may, what is asked, what is answered.

submissions jobs job_changes story  submitting, looking at and changing jobs, and how one got where it is
logs attach events                  what workers print, their terminals, and what happens
nodes quarantine queue              machines, what they run unknown, and how busy it is
teams rules                         quotas, tiers, pools and the policy
tokens audit                        letting others in, and who did what
export health metrics               history as a trace, and whether all is well
answers                             how routes describe their errors
"""
