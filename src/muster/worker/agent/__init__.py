"""The agent: brings a supervisor to a machine that has nothing of Muster, and connects it with the control plane.

packing unpacking    the agent as one file, and what that does when it is run
__main__             the program: starts the supervisor, and keeps it connected
stay                 an agent that lives for one attempt, in an allocation of an engine
uplink               joins the supervisor with a control plane
tunnel frames        the connection: a WebSocket, from the standard library alone
mirror               sends what workers print and measure
last_sending         keeps the supervisor of an allocation until all of that is sent
"""
