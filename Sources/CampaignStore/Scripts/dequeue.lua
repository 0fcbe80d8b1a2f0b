#!lua flags=allow-oom
-- dequeue: pops a reference to an open slice of one campaign into a worker's processing list.
-- Keeps: a reference is in one list at a time. It is only a hint: claiming is the slice's own script. A worker with a
-- reference is listed, so that others notice when its heartbeat ends.
-- KEYS 1 lane, 2 campaign, 3 open slices, 4 worker's processing list, 5 workers
-- ARGV 1 id, 2 worker, 3 partitions of the store
-- Returns the partition, -1 when what was dropped was no partition, and there may be more, -2 when there is no such
-- campaign, or false when it has no open slice: the last two leave the lane
local state = redis.call('HGET', KEYS[2], 'state')
local partition, number
if state == 'active' or state == 'cancelled' then
  -- What is no partition is dropped, some at a time.
  for _ = 1, 500 do
    partition = redis.call('LPOP', KEYS[3])
    number = partition and tonumber(partition)
    if not partition or number and number >= 0 and number < tonumber(ARGV[3]) and tostring(number) == partition then
      break
    end
    number = nil
  end
end
if not partition then
  redis.call('LREM', KEYS[1], 0, ARGV[1])
  return not state and -2
end
if not number then return -1 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('RPUSH', KEYS[4], partition .. ':' .. ARGV[1])
redis.call('ZADD', KEYS[5], now, ARGV[2])
redis.call('HSETNX', KEYS[2], 'startedAt', now)
return number
