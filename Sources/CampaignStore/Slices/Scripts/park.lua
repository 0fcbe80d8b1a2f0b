#!lua flags=allow-oom
-- park: moves a slice to the parked slices until its next retry is due or until another worker's lease expires.
-- Invariant: a parked slice is in no worker's list, and `requeue` brings it back. The script parks a slice of a
-- cancelled campaign only if another worker holds it. Every unfinished slice has a reference in a list.
-- KEYS 1 processing list, 2 parked, 3 campaign
-- ARGV 1 reference, 2 ms from now, 3 '1' if another worker has claimed it, else '0'
-- Returns 1, or 0 if the campaign was cancelled
if ARGV[3] == '0' and redis.call('HGET', KEYS[3], 'state') == 'cancelled' then return 0 end
local time = redis.call('TIME')
redis.call('LREM', KEYS[1], 0, ARGV[1])
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]), ARGV[1])
return 1
