"""Whole situations.

scenario_wire             what a scenario file may hold, key by key
scenario_file             a scenario file -> `Scenario`
references                the parts that jobs refer to
reservations              nodes that are set aside
scenario_jobs placements  what runs, what waits, what was promised, and whether the running jobs fit together
plan_answer               a plan with its explanations -> the answer of `muster plan -o json`
"""
