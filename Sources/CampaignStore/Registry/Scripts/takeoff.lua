#!lua flags=allow-oom
-- takeoff: removes applied events from a list, and moves events that can't be applied to the dead list.
-- Invariant: only the maintenance leader reads the list, and it removes events only while it is the leader. It first
-- applies an event and then removes it. The script removes the same events only once: `housekeeping` counts the events
-- that have left the list, and this count shows whether the events of the call are still on it. The dead list is
-- bounded, and its oldest entries are removed first.
-- Campaigns may wait for registrations (`dequeue`). Such a campaign waits until the count of the list `registrations`
-- reaches a number. The field `awaited` has the highest of these numbers. Until the count reaches it, each call wakes
-- workers, so that they try to begin the waiting campaigns.
-- KEYS 1 list of events: registrations or receipts, 2 maintenance leader, 3 dead list (a stream), 4 housekeeping,
--      5 wake channel
-- ARGV 1 instance of the worker
--      2 number of events to remove, the oldest ones
--      3 maximum number of entries on the dead list
--      4 name of the list
--      5 number of events that had left the list when the caller read these events
--      then three values for each event that goes to the dead list: event, reason, hint
-- Returns 1, or 0 without a change if another worker is the maintenance leader, or if the events have already left the
-- list
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
  -- This message wakes as many workers as a campaign with 64 new slices.
  redis.call('PUBLISH', KEYS[5], 'slices 64')
end
return 1
