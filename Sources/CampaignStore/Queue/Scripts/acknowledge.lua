#!lua flags=allow-oom
-- acknowledge: removes a job from a worker's intake list, together with the record of the attempts to take it in.
-- Invariant: the entry and its attempts are removed in one step, so no attempts remain if the reply is lost.
-- KEYS 1 intake list of the worker, 2 attempts to take in jobs (see `beginjob`)
-- ARGV 1 the job's entry as it is on the list
-- Returns the number of removed entries
local name = redis.sha1hex(ARGV[1])
redis.call('HDEL', KEYS[2], name, name .. ':failures')
return redis.call('LREM', KEYS[1], 1, ARGV[1])
