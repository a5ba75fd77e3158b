"""The only writer: everything that changes goes through here, into the log, and from the log into state.

    engine            the door: submit, observe, tick
    submissions       how jobs come in
    controller        event -> transition -> log -> instructions
    consequences      what follows from an event for other jobs and nodes
    cycle decisions   snapshot, order, plan, lint, apply, send; and the pure functions for it
    apply             a plan is checked against the present and becomes events, or is dropped
    folding           from events to the state
    starvation_watch  how long jobs that gave way have waited beyond what is fair
    timers            who wants to be woken when
    adoption          a job goes on with a gang that was in quarantine
    past              jobs that have ended and left the state
    story             how a job got where it is
    paced_clock       time for the program that drives the engine, that a set wall clock neither stops nor makes jump

The rest knows no clock and no network: `now_ms` comes with every call, and processes are behind the backend port. A
live cluster and a simulation drive the same engine.
"""
