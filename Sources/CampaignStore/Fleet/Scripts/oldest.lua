#!lua flags=no-writes
-- oldest: says what waits on the producers' list, and since when its next job has been the next.
-- Invariant: it writes nothing. What the housekeeper has noted (`housekeep`) counts for the job it was noted of alone.
-- KEYS 1 producers' list, 2 notes of the housekeeper
-- ARGV 1 bytes of a job that are worth sending
-- Returns {length of the list, ms since the epoch (false when nobody knows), the job ('' when it has more bytes)}
local job = redis.call('LINDEX', KEYS[1], -1)
if not job then return {0, false, ''} end
local note = redis.call('HMGET', KEYS[2], 'nextJob', 'nextJobSince')
local is_known = note[1] == #job .. ' ' .. redis.sha1hex(job:sub(1, 1024))
return {redis.call('LLEN', KEYS[1]), is_known and note[2], #job <= tonumber(ARGV[1]) and job or ''}
