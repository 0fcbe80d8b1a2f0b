#!lua flags=allow-oom
-- dequeueleft: moves one of the named slices of a campaign, the first that is open, to a worker's processing list.
-- Invariant: a reference is in one list at a time, as with `dequeue`. The script does not change slices that other
-- workers have taken.
-- KEYS 1 campaign, 2 open slices, 3 worker's processing list, 4 workers
-- ARGV 1 id, 2 worker, 3... partitions, at most 64
-- Returns the partition, or false if none of them is open
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'active' and state ~= 'cancelled' then return false end
for i = 3, #ARGV do
  if redis.call('LREM', KEYS[2], 1, ARGV[i]) == 1 then
    local time = redis.call('TIME')
    redis.call('RPUSH', KEYS[3], ARGV[i] .. ':' .. ARGV[1])
    redis.call('ZADD', KEYS[4], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[2])
    return tonumber(ARGV[i])
  end
end
return false
