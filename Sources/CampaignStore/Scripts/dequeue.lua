#!lua flags=allow-oom
-- dequeue: pops a reference to an open slice of one campaign into a worker's processing list.
-- Keeps: a reference is in one list at a time. It is only a hint: claiming is the slice's own script. A worker with a
-- reference is listed, so that others notice when its heartbeat ends.
-- KEYS 1 lane, 2 campaign, 3 open slices, 4 worker's processing list, 5 workers
-- ARGV 1 id, 2 worker
-- Returns the partition, or false when this campaign has no open slice (it then leaves its lane)
local state = redis.call('HGET', KEYS[2], 'state')
local partition = (state == 'active' or state == 'cancelled') and redis.call('LPOP', KEYS[3])
if not partition then
  redis.call('LREM', KEYS[1], 0, ARGV[1])
  return false
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('RPUSH', KEYS[4], partition .. ':' .. ARGV[1])
redis.call('ZADD', KEYS[5], now, ARGV[2])
redis.call('HSETNX', KEYS[2], 'startedAt', now)
return tonumber(partition)
