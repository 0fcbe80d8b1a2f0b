#!lua
-- moveowners: removes entries from a partition's owner index (the hash `owner`) after the caller has copied them to
-- their new partition.
-- Invariant: the script removes an entry only if it has not changed since the caller copied it. The caller's next pass
-- copies a changed entry again.
-- KEYS 1 owner
-- ARGV two values for each entry: token, entry as the caller copied it ('registeredAt:user')
-- Returns the number of removed entries
local moved = 0
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then moved = moved + redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return moved
