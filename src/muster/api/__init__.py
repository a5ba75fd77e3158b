"""The HTTP API: thin routes over the control plane, its schemas, and the streams that people watch.

app            puts it all together; does not start when a route says nobody's permission
deps           what the routes stand on
front          what stands before the routes: connections, names, rates, turns
gate           who asks, and whether they may; the only way into a route
asking         handing a change to the writer, with its entry in the audit
problems       every error as a problem document
reading        job files, the long ones in processes of their own
routes         one file per noun
schemas        what is sent and received, one file per noun
rendering      from model values to schemas, one file per noun
hub, sse       events, encoded once and sent to everybody who may see them
outlook        why a job waits, when it may start, what a job file would do
server         listening, and stopping in good order
"""
