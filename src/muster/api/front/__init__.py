"""What stands before the routes: nobody keeps others out, whatever they send.

connections    how many there are, and how long each may take to say what it wants
hosts          the names that this server answers to
entrance       who asks, how often, and whose turn it is; all before a body is read
rates, turns   how often somebody may ask, and how many requests are answered at once
body_limit     how much one request may send
headers        what every answer says to browsers and caches
denials        what the audit keeps of requests that were refused
"""
