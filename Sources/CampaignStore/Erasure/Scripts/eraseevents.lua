#!lua flags=allow-oom
-- eraseevents: replaces the waiting events of an erased user on a list of events.
-- Invariant: every event keeps its place, so the list keeps its length. The maintenance leader counts the events that
-- leave the list, and campaigns wait until this count reaches a number. The script runs even if memory is full.
-- KEYS 1 list
-- ARGV 1 entry that takes the place of an event, 2... events
-- Returns the number of replaced events
local replaced = 0
for i = 2, #ARGV do
  for _, place in ipairs(redis.call('LPOS', KEYS[1], ARGV[i], 'COUNT', 0)) do
    redis.call('LSET', KEYS[1], place, ARGV[1])
    replaced = replaced + 1
  end
end
return replaced
