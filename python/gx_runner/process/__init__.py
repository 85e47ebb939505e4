"""What the process has once for all runs: loops, threads, logs, a debugger, a watch on blocking code."""
