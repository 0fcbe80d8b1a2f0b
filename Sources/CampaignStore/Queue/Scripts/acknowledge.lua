#!lua flags=allow-oom
-- acknowledge: removes a job from a worker's intake list, together with the record of the attempts to take it in.
-- Invariant: attempts are removed in the same step as the entry, so none stay behind if the reply is lost.
-- KEYS 1 worker's intake, 2 attempts to take in jobs (`beginjob`)
-- ARGV 1 entry as it is on the list
-- Returns the number of removed entries
local name = redis.sha1hex(ARGV[1])
redis.call('HDEL', KEYS[2], name, name .. ':failures')
return redis.call('LREM', KEYS[1], 1, ARGV[1])
