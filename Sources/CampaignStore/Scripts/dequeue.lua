#!lua flags=allow-oom
-- dequeue: pops references to open slices of one campaign into a worker's processing list.
-- Keeps: a reference is in one list at a time. It is only a hint: claiming is the slice's own script. A worker with a
-- reference is listed, so that others notice when its heartbeat ends. No reference is handed out before the campaign's
-- partitions are fixed (`narrow`).
-- KEYS 1 lane, 2 campaign, 3 open slices, 4 worker's processing list, 5 workers
-- ARGV 1 id, 2 worker, 3 partitions of the store, 4 how many slices at most, 500 at most
-- Returns their partitions, -1 when what was dropped was no partition, and there may be more, -2 when there is no such
-- campaign, -3 when its partitions are yet to be fixed, or false when it has no open slice. A campaign that is not
-- there or has no open slice leaves the lane.
local campaign = redis.call('HMGET', KEYS[2], 'state', 'narrowed')
local state = campaign[1]
if state == 'active' and not campaign[2] then return -3 end
local partitions, references, is_empty = {}, {}, true
if state == 'active' or state == 'cancelled' then
  is_empty = false
  -- What is no partition is dropped, some at a time.
  for _ = 1, 500 do
    local partition = redis.call('LPOP', KEYS[3])
    is_empty = not partition
    if is_empty then break end
    local number = tonumber(partition)
    if number and number >= 0 and number < tonumber(ARGV[3]) and tostring(number) == partition then
      partitions[#partitions + 1] = number
      references[#references + 1] = partition .. ':' .. ARGV[1]
      if #partitions >= tonumber(ARGV[4]) then break end
    end
  end
end
if #partitions == 0 then
  if not is_empty then return -1 end
  redis.call('LREM', KEYS[1], 0, ARGV[1])
  return not state and -2
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('RPUSH', KEYS[4], unpack(references))
redis.call('ZADD', KEYS[5], now, ARGV[2])
redis.call('HSETNX', KEYS[2], 'startedAt', now)
return partitions
