"""What a request passes before the routes. No caller can keep others out, whatever it sends.

connections       how many connections there are, and how long each may take to send a request
hosts             the host names that this server answers to
entrance          identity, rate and order of requests, all checked before a body is read
rates fair_queue  how often a caller may send requests, and how many are answered at once
turns             when the turn of a request ends
body_limit        how large the body of a request may be
headers           the headers that every answer sends to browsers and caches
compression       long answers in fewer bytes
denials           what the audit keeps of refused requests
meter             requests counted by route and status
forwarding        what a standby passes on to the leader
relayed_terminals the same for terminals
"""
