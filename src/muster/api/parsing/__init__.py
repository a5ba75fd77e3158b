"""Reading submissions: at once when they are short, and in a separate process when that may take a while.

submission   from the bytes of a body to a job, or to a problem document
readers      the processes that read long submissions, with limits on number, time and files per caller
merge_patch  partial changes of rules
frames       the messages between the server and a reader process
__main__     a reader process
"""
