-- Running runs are few, and run_one_per_thread has them all: an index on the lease cost each start, each heartbeat and each end of a run.
drop index gx.run_leased;
