#!lua flags=allow-oom
-- acknowledge: removes an entry from a worker's intake, and the attempts to take it in.
-- Invariant: attempts are forgotten in the step that removes the entry, so none are left behind when its reply is lost.
-- KEYS 1 worker's intake, 2 attempts to take in jobs (`beginjob`)
-- ARGV 1 entry as it stands on the list
-- Returns how many entries were removed
local name = redis.sha1hex(ARGV[1])
redis.call('HDEL', KEYS[2], name, name .. ':failures')
return redis.call('LREM', KEYS[1], 1, ARGV[1])
