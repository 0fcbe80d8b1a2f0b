#!lua flags=allow-oom
-- replacedead: replaces an entry of the dead list by an entry without an erased user.
-- Invariant: the new entry has the time of the old one in the field `at`, because an entry of a stream can't be
-- changed. An entry that was retried or dropped in between is not written again. The script runs even if memory is
-- full.
-- KEYS 1 dead list (a stream)
-- ARGV 1 key of the entry, 2... fields and values of the new entry
-- Returns 1, or 0 if the entry no longer exists
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))
return 1
