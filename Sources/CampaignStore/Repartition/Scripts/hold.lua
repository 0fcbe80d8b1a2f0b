#!lua
-- hold: begins a repartition, which changes the store's number of partitions.
-- Invariant: during a repartition, no campaign begins (`activate` and `promote` check this), and workers exit when no
-- campaign is running. The field `mostPartitions` is the largest number of partitions that may have users. This field
-- stays until the last user has moved, even if an operator starts another repartition before that.
-- KEYS 1 store, 2 control epoch (the script raises it, so that workers read the store again), 3 wake channel
-- ARGV 1 the new number of partitions
-- Returns the number of partitions to search for users, or 0 if the store does not exist
local store = redis.call('HMGET', KEYS[1], 'partitions', 'nextPartitions', 'mostPartitions')
if not store[1] then return 0 end
local most = math.max(tonumber(ARGV[1]), tonumber(store[1]), tonumber(store[2] or 0), tonumber(store[3] or 0))
redis.call('HSET', KEYS[1], 'nextPartitions', ARGV[1], 'mostPartitions', most)
redis.call('PUBLISH', KEYS[3], 'control ' .. redis.call('INCR', KEYS[2]))
return most
