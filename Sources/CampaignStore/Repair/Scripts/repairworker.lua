#!lua flags=allow-oom
-- repairworker: finds out whether a worker that is not in the list of workers still has slices or jobs. If ARGV 1 is
-- '1', adds the worker to the list. The worker then counts as dead, because its heartbeat gets the time 0.
-- Invariant: a worker with slices or jobs is in the list of workers, so that other workers take them over.
-- KEYS 1 workers, 2 processing list or intake list of the worker
-- ARGV 1 '1' to repair, '0' to check only; 2 worker
-- Returns the length of KEYS 2 if the worker is not in the list of workers, else 0
local left = redis.call('LLEN', KEYS[2])
if left == 0 or redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 0 end
if ARGV[1] == '1' then redis.call('ZADD', KEYS[1], 0, ARGV[2]) end
return left
