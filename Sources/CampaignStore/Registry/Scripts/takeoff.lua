#!lua flags=allow-oom
-- takeoff: takes events off a list that have been applied, and puts those on the dead list that
-- can't be.
-- Invariant: only the housekeeper reads the list, and only while it is that it takes anything off: an event leaves when it
-- has been applied by whoever takes it off. A page is taken off once: the count of events that have left the list says
-- whether the page still stands there. The dead list is bounded, oldest out first.
-- Campaigns may wait for events (`dequeue`). Workers are woken as long as `awaited`, the highest count that one of
-- them waits for, is not reached.
-- KEYS 1 the list, 2 housekeeper, 3 dead list (a stream), 4 housekeeping, 5 wake channel
-- ARGV 1 instance of the worker, 2 how many, the oldest, 3 entries kept on the dead list, 4 name of the list, 5 number
--      of events that had left the list before these were read, then three each: event, reason, hint
-- Returns 1, or 0 when another is the housekeeper, or the events have left the list already
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
local counter = 'taken:' .. ARGV[4]
if tonumber(redis.call('HGET', KEYS[4], counter) or 0) ~= tonumber(ARGV[5]) then return 0 end
for i = 6, #ARGV, 3 do
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'list', ARGV[4], 'reason', ARGV[i + 1],
    'hint', ARGV[i + 2], 'id', '', 'size', #ARGV[i], 'job', ARGV[i])
end
redis.call('LTRIM', KEYS[1], 0, -1 - ARGV[2])
local taken = redis.call('HINCRBY', KEYS[4], counter, ARGV[2])
local awaited = ARGV[4] == 'registrations' and tonumber(redis.call('HGET', KEYS[4], 'awaited'))
if awaited then
  if taken >= awaited then redis.call('HDEL', KEYS[4], 'awaited') end
  -- As many workers look as for 64 slices.
  redis.call('PUBLISH', KEYS[5], 'slices 64')
end
return 1
