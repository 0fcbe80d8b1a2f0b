#!lua flags=allow-oom
-- dequeueleft: moves one slice of a campaign to the processing list of a worker: the first of the named slices that is
-- open. A slice is open if no worker has it. Workers call this script for slices that a dead worker has left.
-- Invariant: the reference to a slice ('partition:campaign id') is in one list at a time, as with `dequeue`. The script
-- does not change slices that other workers have taken.
-- KEYS 1 campaign, 2 open slices, 3 processing list of the worker, 4 workers
-- ARGV 1 id of the campaign, 2 worker, 3... partitions of the named slices, at most 64
-- Returns the partition of the moved slice, or false if no named slice is open
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
