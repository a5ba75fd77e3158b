"""The HTTP API: thin routes over the control plane, its schemas, and the streams that people watch.

app                puts it all together; does not start when a route names no permission
deps services      what the routes stand on, and what they share
front              what stands before the routes: connections, names, rates, a fair queue
gate               who asks, and whether they may; the only way into a route
routes             one file per noun
asking             handing a change to the writer, with its entry in the audit
reading            job files, the long ones in processes of their own
lookups            finding jobs, and why one waits
schemas rendering  what is received, and model values as they are sent; one file per noun
streams            events, encoded once and sent to every watcher that may see them
problems           every error as a problem document
openapi            the OpenAPI document
server             listening, and stopping in good order
"""
