"""Reading what is submitted: at once where it is short, and in a process of its own where that may take a while.

submission  from the bytes of a body to the job that they ask for, or a problem document
readers     the processes that read long ones: so many, for so long, so many of each caller
frames      what a server and such a process say to one another
__main__    such a process
"""
