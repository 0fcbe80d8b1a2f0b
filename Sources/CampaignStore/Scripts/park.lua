#!lua
-- park: sets a slice aside until its next retry is due.
-- Keeps: a parked slice is in no worker's list, and comes back by `requeue`. A cancelled one is not parked.
-- KEYS 1 processing list, 2 parked, 3 campaign
-- ARGV 1 reference, 2 ms from now
-- Returns 1, or 0 when the campaign was cancelled meanwhile
if redis.call('HGET', KEYS[3], 'state') == 'cancelled' then return 0 end
local time = redis.call('TIME')
redis.call('LREM', KEYS[1], 0, ARGV[1])
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]), ARGV[1])
return 1
