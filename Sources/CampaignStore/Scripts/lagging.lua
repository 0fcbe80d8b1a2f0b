#!lua flags=no-writes
-- lagging: says which workers have yet to apply a control epoch.
-- Keeps: a worker without a heartbeat for a lease has lost its slices, and is not waited for.
-- KEYS 1 workers, 2 epochs that workers have applied
-- ARGV 1 epoch, 2 ms without a heartbeat after which a worker is taken for dead
-- Returns the names of the live workers that have applied less
local time = redis.call('TIME')
local expired = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
local lagging = {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. expired, '+inf')) do
  local applied = tonumber(redis.call('HGET', KEYS[2], worker) or -1) or -1
  if applied < tonumber(ARGV[1]) then lagging[#lagging + 1] = worker end
end
return lagging
