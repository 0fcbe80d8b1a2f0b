#!lua flags=allow-oom
-- requeue: moves a slice from a worker's processing list or from the parked slices back to the open slices of its
-- campaign. A slice is open if no worker has it.
-- Invariant: an unfinished slice is open, held by a worker, or parked; a finished slice is in none of these lists.
-- KEYS 1 processing list of the worker, 2 parked slices, 3 open slices, 4 lane, 5 campaign, 6 finished slices, 7 wake
--      channel
-- ARGV 1 partition, 2 id of the campaign, 3 '1' if the worker that held the slice has died, else '0'
-- Returns 1, or 0 if the slice is finished or its campaign no longer exists
local reference = ARGV[1] .. ':' .. ARGV[2]
redis.call('LREM', KEYS[1], 0, reference)
redis.call('ZREM', KEYS[2], reference)
local state = redis.call('HGET', KEYS[5], 'state')
if not state or redis.call('GETBIT', KEYS[6], ARGV[1]) == 1 then return 0 end
redis.call('LREM', KEYS[3], 0, ARGV[1])
redis.call('LPUSH', KEYS[3], ARGV[1])
if state == 'active' or state == 'cancelled' then
  if not redis.call('LPOS', KEYS[4], ARGV[2]) then redis.call('RPUSH', KEYS[4], ARGV[2]) end
  redis.call('PUBLISH', KEYS[7], ARGV[3] == '1' and 'left ' .. reference or 'slices 1')
end
return 1
