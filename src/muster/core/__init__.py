"""Pure decisions: no clock, randomness, I/O, logging or environment. Imports `muster.model` only.

cluster                what is free, and what a gang asks for
order                  which job goes next: tiers, quota, fair share, run times
snapshot               the scheduling state that a plan is made from
planning               `plan(snapshot, now_ms)`: which jobs start, leave or get a promise
spares                 which nodes are kept free, and which jobs that lost a node start there
plan_lint              what is wrong with a plan
admission team_bounds  whether a job may enter the queue at all
explaining             why a job waits, and until when
offline                one cycle on plain values: admit, plan, lint, explain
lifecycle              what an event makes of a job
stragglers             which ranks of a training are slow, and whether it stands still
health                 from signals to a verdict about a node
doubtful_quotas        quotas that cannot be kept
pricing                what a job would use up, and what that costs
lease                  when a leader may act, and when another may take its place
"""
