#!lua flags=no-writes
-- lagging: says which workers have yet to apply a control epoch.
-- Invariant: a worker without a heartbeat for a lease has lost its slices, and is not waited for. It looks at those only
-- that have not applied it.
-- KEYS 1 workers, 2 epochs that workers have applied
-- ARGV 1 epoch, 2 ms without a heartbeat after which a worker is taken for dead, 3 workers to look at
-- Returns the names of live workers that have applied less
local time = redis.call('TIME')
local expired = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
local lagging = {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[3])) do
  if tonumber(redis.call('ZSCORE', KEYS[1], worker) or 0) > expired then lagging[#lagging + 1] = worker end
end
return lagging
