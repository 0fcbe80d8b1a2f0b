#!lua flags=allow-oom
-- reopen: adds slices that are in no list to the open slices of their campaign, and puts the campaign back on its lane.
-- A slice is open if no worker has it.
-- Invariant: an unfinished slice is open, held by a worker, or parked. A slice can be missing in all lists if two
-- workers had the same name, or if Carillon has a defect. A campaign with open slices is on its lane, unless it is
-- paused.
-- The caller has checked that no worker holds these slices. If a slice is open and held at the same time, nothing is
-- sent twice, because only the owner of the lease sends.
-- If a slice is parked for more than a year, the script opens it, because no retry waits that long.
-- KEYS 1 campaign, 2 finished slices, 3 open slices, 4 parked slices, 5 lane, 6 running campaigns, 7 wake channel
-- ARGV 1 id of the campaign, 2... partitions of the slices that no worker holds (at most 500)
-- Returns the number of opened slices
local state = redis.call('HGET', KEYS[1], 'state')
if not state then
  redis.call('SREM', KEYS[6], ARGV[1])
  return 0
end
local opened, latest = 0, (redis.call('TIME')[1] + 366 * 86400) * 1000
for i = 2, #ARGV do
  local due = redis.call('ZSCORE', KEYS[4], ARGV[i] .. ':' .. ARGV[1])
  if redis.call('GETBIT', KEYS[2], ARGV[i]) == 0 and not (due and tonumber(due) <= latest)
    and not redis.call('LPOS', KEYS[3], ARGV[i]) then
    redis.call('RPUSH', KEYS[3], ARGV[i])
    opened = opened + 1
  end
end
if (state == 'active' or state == 'cancelled') and redis.call('LLEN', KEYS[3]) > 0 then
  if not redis.call('LPOS', KEYS[5], ARGV[1]) then redis.call('RPUSH', KEYS[5], ARGV[1]) end
  if opened > 0 then redis.call('PUBLISH', KEYS[7], 'slices ' .. opened) end
end
return opened
