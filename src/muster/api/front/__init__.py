"""What stands before the routes: no caller keeps others out, whatever it sends.

connections       how many there are, and how long each may take to say what it wants
hosts             the names that this server answers to
entrance          who asks, how often, and in which order; all before a body is read
rates fair_queue  how often a caller may ask, and how many requests are answered at once
body_limit        how much one request may send
headers           what every answer says to browsers and caches
denials           what the audit keeps of requests that were refused
meter             requests counted by route and status
"""
