"""What readers see. It can always be built again from the log.

view         everything that readers see at one version of the log
active_jobs  jobs and arrays that have not ended, in the order of submission
job_counts   how many jobs run and wait, by tier and team
borrowing    what a team uses above its guarantee
lending      what of its guarantee others use
gauges       what is used and wanted at one moment, kept up to date event by event
history      the same summed over time, in buckets of a minute up to a day
"""
