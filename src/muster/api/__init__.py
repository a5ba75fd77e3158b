"""The HTTP API: thin routes over the control plane, schemas, and event streams.

app                 puts everything together; does not start when a route names no permission
deps services       what the routes depend on, and what they share
front               checks before the routes: connections, host names, rates, a fair queue
gate                identifies the caller and checks permissions; the only way into a route
routes              one file per noun
authorized_changes  sends a change to the writer, with its entry in the audit
admission           asks admission rules about jobs, in separate processes
parsing             reads job files, long ones in separate processes
lookups             finds jobs, and why a job waits
what_if             simulations of what would be otherwise, in separate processes
schemas rendering   what is received, and model values as they are sent; one file per noun
bundle_collection   removes files of jobs that no job needs any more
streams             events, encoded once and sent to every watcher that may see them
problems            every error as a problem document
openapi __main__    the OpenAPI document, and printing it
dashboard           the dashboard as it is built into the package
server              listening, and stopping in order
sharing             a control plane that stands by, leads, and stands by again
"""
