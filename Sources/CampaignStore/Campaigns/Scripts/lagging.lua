#!lua flags=no-writes
-- lagging: returns which workers have not applied a control epoch yet. Each pause, resume and cancel raises the epoch.
-- Invariant: a worker that has had no heartbeat for the time in ARGV 2 has lost its slices, so the result does not
-- contain it. The script reads only the heartbeats of workers that have not applied the epoch.
-- KEYS 1 workers, 2 applied: the epochs that workers have applied
-- ARGV 1 epoch, 2 ms without a heartbeat after which a worker counts as dead, 3 maximum number of workers to read
-- Returns the names of live workers that have applied only earlier epochs
local time = redis.call('TIME')
local expired = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
local lagging = {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[3])) do
  if tonumber(redis.call('ZSCORE', KEYS[1], worker) or 0) > expired then lagging[#lagging + 1] = worker end
end
return lagging
