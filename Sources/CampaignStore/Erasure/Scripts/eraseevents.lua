#!lua flags=allow-oom
-- eraseevents: replaces the waiting events of an erased user on a list of events.
-- Invariant: every event keeps its place, so the list keeps its length. The length must not change, because the
-- maintenance leader counts the events that leave the list, and campaigns wait until this count reaches a number (see
-- `dequeue`). The script also runs when Redis has no free memory.
-- KEYS 1 list of events: registrations or receipts
-- ARGV 1 entry that takes the place of each event, 2... the events to replace
-- Returns the number of replaced events
local replaced = 0
for i = 2, #ARGV do
  for _, place in ipairs(redis.call('LPOS', KEYS[1], ARGV[i], 'COUNT', 0)) do
    redis.call('LSET', KEYS[1], place, ARGV[1])
    replaced = replaced + 1
  end
end
return replaced
