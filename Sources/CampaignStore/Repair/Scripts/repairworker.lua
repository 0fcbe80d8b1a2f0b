#!lua flags=allow-oom
-- repairworker: adds a worker that still has a list to the list of workers. The worker counts as dead, because its
-- heartbeat gets the time 0.
-- Invariant: a worker whose list has entries is listed, so that other workers take over its slices.
-- KEYS 1 workers, 2 a list of the worker
-- ARGV 1 '1' to repair, 2 worker
-- Returns the length of the list if the worker is not listed, else 0
local left = redis.call('LLEN', KEYS[2])
if left == 0 or redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 0 end
if ARGV[1] == '1' then redis.call('ZADD', KEYS[1], 0, ARGV[2]) end
return left
