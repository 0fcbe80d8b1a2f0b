#!lua
-- retryevent: puts an event of the dead list on its list again, as the newest.
-- Invariant: an event is on one of both.
-- KEYS 1 dead list (a stream), 2 the list
-- ARGV 1 its key in the dead list, 2 the event
-- Returns 1, or 0 when it is not there
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], ARGV[2])
return 1
