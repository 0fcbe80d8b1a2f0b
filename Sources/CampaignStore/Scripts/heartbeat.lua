#!lua flags=allow-oom
-- heartbeat: renews the presence of a worker, and tells it what others left behind and what is scheduled.
-- Keeps: time is Redis' own, so workers' clocks don't matter.
-- KEYS 1 workers, 2 parked, 3 ended campaigns, 4 schedule
-- ARGV 1 worker, 2 ms without a heartbeat after which a worker is taken for dead, 3 references to return at most
-- Returns {now ms, {workers taken for dead}, {parked references that are due}, {campaigns that ended that long ago
--          and whose keys have no expiry yet}, {scheduled campaigns that are due}, ms until the next one (-1: none),
--          live workers}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = now - tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
local ahead = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return {now, redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', expired, 'LIMIT', 0, ARGV[3]),
  redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[3]),
  redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', expired, 'LIMIT', 0, 1),
  redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, ARGV[3]), ahead[2] and ahead[2] - now or -1,
  redis.call('ZCOUNT', KEYS[1], '(' .. expired, '+inf')}
