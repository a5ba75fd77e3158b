"""The only writer: everything that changes goes through here, into the log, and from the log into state.

    state         what the log says, folded, and the scheduling snapshot kept in step with it
    folding       how an event changes the state
    node_folding  the same for what becomes of nodes
    quarantine    what nodes run that nobody here has started
    adoption      what may be done with that
    restoring     the state as plain values, and back
    projection    how one job's change edits the snapshot
    consequences  what follows from an event for other jobs and nodes
    controller    event -> transition -> log -> instructions
    apply         a plan is checked against the present and becomes events, or is dropped
    cycle         snapshot, order, plan, lint, apply, send
    timers        who wants to be woken when
    story         how a job got where it is
    telling       the same in sentences, for people
    engine        the door: submit, observe, tick
    paced_clock   time for whoever drives the engine, that a set wall clock neither stops nor makes jump

The rest knows no clock and no network: `now_ms` comes with every call, and processes are behind the backend port. A
live cluster and a simulation drive the same engine.
"""
