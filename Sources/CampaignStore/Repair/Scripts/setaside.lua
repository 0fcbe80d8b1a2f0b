#!lua flags=allow-oom
-- setaside: gives a key that is damaged another name, so that it can be made anew and be looked at.
-- Invariant: what is damaged, for a while. A key of the right type stays where it is, unless its values are what is wrong.
-- KEYS 1 key, 2 its new name
-- ARGV 1 type that it should have ('' when its values are wrong), 2 seconds that it is kept
-- Returns 1 when it was set aside, else 0
local found = redis.call('TYPE', KEYS[1]).ok
if found == 'none' or found == ARGV[1] then return 0 end
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
return 1
