#!lua
-- activate: writes a campaign, opens its slices, puts it on its lane, and acknowledges the job.
-- Keeps: a campaign is activated once, and its job leaves the processing list only with it.
-- KEYS 1 campaign, 2 open slices, 3 lane, 4 all campaigns, 5 worker's intake
-- ARGV 1 id, 2 job as taken, 3 number of partitions listed, 4... partitions, then fields and values of the campaign
-- Returns 1, or 0 when it had been activated before
redis.call('LREM', KEYS[5], 1, ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local behind = 4 + tonumber(ARGV[3])
redis.call('HSET', KEYS[1], 'state', 'active', 'createdAt', now, 'slices', ARGV[3], unpack(ARGV, behind))
for i = 4, behind - 1 do redis.call('RPUSH', KEYS[2], ARGV[i]) end
redis.call('RPUSH', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[4], now, ARGV[1])
return 1
