#!lua flags=allow-oom
-- join: adds a starting worker to the list of workers, unless another instance has taken its name. An instance is one
-- process with a worker's name.
-- Invariant: a name belongs to one instance. The caller has checked that the instance in ARGV 3 is dead, so the new
-- instance may replace it.
-- KEYS 1 instances, 2 workers, 3 applied: the control epochs that workers have applied
-- ARGV 1 worker, 2 instance of the worker, 3 instance that had the name and was found dead ('' for none)
-- Returns 1, or 0 if another instance has the name
local known = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if known ~= ARGV[2] and known ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
redis.call('ZADD', KEYS[3], 'NX', -1, ARGV[1])
return 1
