#!lua flags=allow-oom
-- setaside: renames a damaged key, so that the key can be written again and an operator can inspect the damaged value.
-- Invariant: only damaged data is renamed, and the renamed key expires. A key of the right type is renamed only if its
-- values are wrong.
-- KEYS 1 key, 2 new name of the key
-- ARGV 1 type that the key should have ('' if its type is right and its values are wrong), 2 seconds until the renamed
--      key expires
-- Returns 1 if the key was renamed, else 0
local found = redis.call('TYPE', KEYS[1]).ok
if found == 'none' or found == ARGV[1] then return 0 end
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
return 1
