#!lua flags=no-writes
-- oldest: returns the length of the producers' list, the next job in turn, and since when that job has been the next
-- one.
-- Invariant: the script writes nothing. If `housekeep` has recorded the time for another job, the time is unknown.
-- KEYS 1 producers' list, 2 housekeeping
-- ARGV 1 maximum number of bytes of a job to return
-- Returns {length of the list, time since which the job is the next one in ms since the epoch (false if unknown), the
-- job ('' if it is larger)}
local job = redis.call('LINDEX', KEYS[1], -1)
if not job then return {0, false, ''} end
local note = redis.call('HMGET', KEYS[2], 'nextJob', 'nextJobSince')
local is_known = note[1] == #job .. ' ' .. redis.sha1hex(job:sub(1, 1024))
return {redis.call('LLEN', KEYS[1]), is_known and note[2], #job <= tonumber(ARGV[1]) and job or ''}
