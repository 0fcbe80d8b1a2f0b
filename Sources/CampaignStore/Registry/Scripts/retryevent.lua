#!lua
-- retryevent: moves an event from the dead list back to the list from which it came, as the newest event.
-- Invariant: an event is always on one of the two lists.
-- KEYS 1 dead list (a stream), 2 list of the event: registrations or receipts
-- ARGV 1 key of the event's entry in the dead list, 2 the event
-- Returns 1, or 0 if the dead list has no such entry
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], ARGV[2])
return 1
