#!lua flags=allow-oom
-- mendworker: lists a worker of whom a list is left, as one that has been dead for long.
-- Invariant: who has a list with anything in it is listed, so that others notice and take over what it held.
-- KEYS 1 workers, 2 a list of it
-- ARGV 1 '1' to mend, 2 worker
-- Returns how much is in the list of a worker that is not listed, else 0
local left = redis.call('LLEN', KEYS[2])
if left == 0 or redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 0 end
if ARGV[1] == '1' then redis.call('ZADD', KEYS[1], 0, ARGV[2]) end
return left
