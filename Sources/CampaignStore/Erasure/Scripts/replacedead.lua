#!lua flags=allow-oom
-- replacedead: replaces an entry of the dead list by one without an erased user.
-- Invariant: an entry of a stream can't be changed, so a new entry takes its place and keeps the time in the field `at`.
-- An entry that was retried or dropped meanwhile stays away. It runs when memory is full.
-- KEYS 1 dead list (a stream)
-- ARGV 1 key of the entry, 2... fields and values of the new entry
-- Returns 1, or 0 when the entry is gone
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))
return 1
