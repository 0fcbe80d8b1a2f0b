#!lua flags=no-writes
-- confirm: says which workers have yet to follow a steering.
-- Keeps: a worker that gave no sign of life for a lease has lost its slices, and is not waited for.
-- KEYS 1 workers, 2 epochs that workers have followed
-- ARGV 1 epoch, 2 ms after which a silent worker is taken for dead
-- Returns the names of the live workers that have followed less
local time = redis.call('TIME')
local silence = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
local behind = {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. silence, '+inf')) do
  if tonumber(redis.call('HGET', KEYS[2], worker) or -1) < tonumber(ARGV[1]) then behind[#behind + 1] = worker end
end
return behind
