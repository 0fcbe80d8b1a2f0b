#!lua flags=allow-oom
-- decline: records that a worker declines a campaign, because it can't send it.
-- Keeps: one worker's word stops nobody else. The campaign has nobody left to send it only when every live worker
-- declines it. The record counts while the worker lives, and for the round in which it was made: whoever resumed the
-- campaign may have mended the cause.
-- KEYS 1 objections, 2 workers, 3 campaign
-- ARGV 1 worker, 2 ms without a heartbeat after which a worker is taken for dead, 3 round
-- Returns 1 when all live workers decline it, 0 when some don't, false when the campaign does not run in that round
local campaign = redis.call('HMGET', KEYS[3], 'state', 'round')
if campaign[1] ~= 'active' or tonumber(campaign[2] or 0) ~= tonumber(ARGV[3]) then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = now - tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', expired)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1]) >= redis.call('ZCOUNT', KEYS[2], '(' .. expired, '+inf') and 1 or 0
