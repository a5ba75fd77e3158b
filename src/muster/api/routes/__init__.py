"""Thin routes, one file per noun: the permission, the input and the answer.

jobs             submitting, reading and changing jobs, what they print, save and measure, and their terminals
machines         nodes, their health, what is unknown on them, reservations, and totals of the queue
rules            quotas, tiers, pools, the policy and admission rules, and a configuration with all of them
access           tokens, signing in with a browser, and who did what
events history   what happens, and what was used over time
export what_if   past jobs as a trace, and simulations of what would be otherwise
health metrics   whether the server is well, and metrics
dashboard        the page of the dashboard and its files
error_responses  how routes describe their errors
"""
