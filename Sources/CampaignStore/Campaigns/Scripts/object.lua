#!lua flags=allow-oom
-- object: a worker says, or says again, that it can't send a campaign.
-- Invariant: what one worker says stops nobody else; only when all live workers say it is there nobody left to send. It
-- counts for as long as a worker lives without a heartbeat, and for the round in which it was said: whoever resumed the
-- campaign may have mended what was wrong.
-- KEYS 1 objections, 2 workers, 3 campaign
-- ARGV 1 worker, 2 ms without a heartbeat after which a worker is taken for dead, 3 round
-- Returns 1 when all live workers object, 0 when some don't, false when the campaign does not run in that round
local campaign = redis.call('HMGET', KEYS[3], 'state', 'round')
if campaign[1] ~= 'active' or tonumber(campaign[2] or 0) ~= tonumber(ARGV[3]) then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = now - tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', expired)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1]) >= redis.call('ZCOUNT', KEYS[2], '(' .. expired, '+inf') and 1 or 0
