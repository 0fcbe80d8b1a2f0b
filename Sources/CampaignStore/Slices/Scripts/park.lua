#!lua flags=allow-oom
-- park: sets a slice aside until its next retry is due, or until another worker's lease on it would expire.
-- Invariant: a parked slice is in no worker's list, and `requeue` brings it back. A slice of a cancelled campaign is
-- not parked unless another worker holds it. Every unfinished slice has a reference somewhere.
-- KEYS 1 processing list, 2 parked, 3 campaign
-- ARGV 1 reference, 2 ms from now, 3 1 if another claim holds it, else 0
-- Returns 1, or 0 if the campaign was cancelled
if ARGV[3] == '0' and redis.call('HGET', KEYS[3], 'state') == 'cancelled' then return 0 end
local time = redis.call('TIME')
redis.call('LREM', KEYS[1], 0, ARGV[1])
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]), ARGV[1])
return 1
