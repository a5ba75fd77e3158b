"""The only writer: every change goes through here into the log, and from the log into the state.

    engine            the door: submit, observe, tick
    submissions       how jobs come in
    controller        event -> transition -> log -> instructions
    consequences      what follows from an event for other jobs and nodes
    cycle decisions   one scheduling cycle: snapshot, order, plan, lint, apply, send; and the pure functions it calls
    apply             checks a plan against the present state, and turns it into events or drops it
    folding           from events to the state
    starvation_watch  finds jobs that ran before and have waited again for longer than is fair
    timers            which job asked to be woken at which time
    adoption          lets a job continue with its gang that was in quarantine
    setting_aside     nodes that operators empty or reserve
    cluster_changes   another set of nodes, with what is known about those that stay
    spare_nodes       keeps nodes free for jobs that lose one, and starts such jobs there
    past              jobs that have ended and left the state
    story             how a job got where it is
    paced_clock       time for the program that drives the engine; it neither stops nor jumps when the wall clock is set

Apart from `paced_clock`, nothing here knows a clock or a network. `now_ms` comes with every call, and processes are
behind the backend port. A live cluster and a simulation drive the same engine.
"""
