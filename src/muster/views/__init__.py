"""What readers see. It can always be made again from the log.

view         everything that is so at one version of the log
active_jobs  jobs and arrays that have not ended, by submission
census       how many run and wait, by tier and team
"""
