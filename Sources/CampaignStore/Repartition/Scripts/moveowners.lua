#!lua
-- moveowners: removes entries from a partition's owner index after they were written to their new partition.
-- Invariant: the script removes an entry only if it has not changed since it was copied. A changed entry is copied in
-- the next pass.
-- KEYS 1 owner
-- ARGV two values for each entry: token, the entry as it was copied
-- Returns the number of removed entries
local moved = 0
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then moved = moved + redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return moved
