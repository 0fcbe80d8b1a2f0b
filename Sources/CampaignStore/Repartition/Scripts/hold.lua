#!lua
-- hold: keeps campaigns from beginning, until the store has another number of partitions.
-- Invariant: while a store is held nothing begins (`activate` and `promote` look), and workers leave when nothing runs any
-- more. It is known over how many partitions users may be spread until the last has moved, whatever was begun and
-- given up meanwhile.
-- KEYS 1 store, 2 control epoch, 3 wake channel
-- ARGV 1 the number of partitions that it is to have
-- Returns the number of partitions to look through, or 0 when there is no store
local store = redis.call('HMGET', KEYS[1], 'partitions', 'nextPartitions', 'mostPartitions')
if not store[1] then return 0 end
local most = math.max(tonumber(ARGV[1]), tonumber(store[1]), tonumber(store[2] or 0), tonumber(store[3] or 0))
redis.call('HSET', KEYS[1], 'nextPartitions', ARGV[1], 'mostPartitions', most)
redis.call('PUBLISH', KEYS[3], 'control ' .. redis.call('INCR', KEYS[2]))
return most
