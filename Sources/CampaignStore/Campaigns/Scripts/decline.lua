#!lua flags=allow-oom
-- decline: records that a worker declines a campaign, or renews this record.
-- Invariant: a campaign stops only if all live workers decline it. A single worker can't stop it while other workers
-- are alive. If a worker does not renew its record, the record expires in the time after which a worker without
-- heartbeats counts as dead. A record counts only until the next resume, because the problem may then have been fixed.
-- KEYS 1 declines, 2 workers, 3 campaign
-- ARGV 1 worker, 2 ms without a heartbeat after which a worker counts as dead, 3 round that the worker knows: the
--      number of resumes of the campaign
-- Returns 1 if all live workers decline the campaign, 0 if some don't, false if the campaign is not active or was
-- resumed since
local campaign = redis.call('HMGET', KEYS[3], 'state', 'round')
if campaign[1] ~= 'active' or tonumber(campaign[2] or 0) ~= tonumber(ARGV[3]) then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = now - tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', expired)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1]) >= redis.call('ZCOUNT', KEYS[2], '(' .. expired, '+inf') and 1 or 0
