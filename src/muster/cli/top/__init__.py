"""The cluster on one screen: `muster top`.

glance              what the server said at one moment
utilisation         how full pools are, and what tiers have
gpu_map             every GPU as a cell with the letter of its job
job_rows node_rows  the tables: filtered and sorted
selection           what is said of the selected job or node
still               one picture as text
view                what the screen shows of a glance, as the user chose
changes             what may be asked of a job or node, and the question before
looking             the threads that ask the server again and again
rows                a list of lines with a cursor
dialogs             questions, and the help
app                 the screen itself, which shows what the modules above make
"""
