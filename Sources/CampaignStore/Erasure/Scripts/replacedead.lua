#!lua flags=allow-oom
-- replacedead: replaces an entry of the dead list by an entry without an erased user.
-- Invariant: an entry of a stream can't be changed, so the script removes the entry and adds a new one. The new entry
-- has the time of the old one in the field `at`. If the old entry no longer exists, because it was retried or dropped,
-- the script adds nothing. The script also runs when Redis has no free memory.
-- KEYS 1 dead list (a stream)
-- ARGV 1 key of the entry, 2... fields and values of the new entry
-- Returns 1, or 0 if the entry no longer exists
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))
return 1
