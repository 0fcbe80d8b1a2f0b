#!lua flags=allow-oom
-- promote: begins a scheduled campaign whose time has come.
-- Keeps: it begins once, whoever calls this and however often; only Redis' clock counts. The schedule has the scheduled
-- campaigns and no others: what has gone, begun, or been paused or cancelled leaves it, what is missing comes back.
-- KEYS 1 campaign, 2 lane, 3 schedule, 4 running campaigns
-- ARGV 1 id
-- Returns 1 when this call began it, else 0
local campaign = redis.call('HMGET', KEYS[1], 'state', 'sendAt')
if campaign[1] ~= 'scheduled' then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return 0
end
local time = redis.call('TIME')
local due = tonumber(campaign[2] or 0)
if due > time[1] * 1000 + math.floor(time[2] / 1000) then
  if tonumber(redis.call('ZSCORE', KEYS[3], ARGV[1]) or 0) ~= due then redis.call('ZADD', KEYS[3], due, ARGV[1]) end
  return 0
end
redis.call('HSET', KEYS[1], 'state', 'active')
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('SADD', KEYS[4], ARGV[1])
return 1
