"""An `srun` in an allocation. It needs the standard library alone.

step            its tasks, what they print, how they end
step_input      what tasks read
step_output     where what tasks print goes
multi_prog      which program each task runs
step_variables  the variables of tasks
step_used       what tasks used of the machine
"""
