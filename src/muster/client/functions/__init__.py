"""Python functions as jobs, for people who come from submitit.

    submitting  `submit_function` and `map_array`: a function and its arguments, written into a private folder
    runner      what the job runs: it calls the function, and writes what it returned or raised beside it
    results     reads that

Functions and results are pickles, and unpickling runs code. So they never pass through the control plane, and the
client reads only what lies in the caller's own folder.
"""
