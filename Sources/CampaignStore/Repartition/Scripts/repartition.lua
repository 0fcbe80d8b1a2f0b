#!lua
-- repartition: gives a held store its new number of partitions, when everything is where that wants it.
-- Invariant: nothing begins before this (see `hold`), and from here on only under the new number.
-- KEYS 1 store, 2 control epoch, 3 wake channel
-- ARGV 1 the number of partitions
-- Returns 1, or 0 when the store is not held for that number
if redis.call('HGET', KEYS[1], 'nextPartitions') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'partitions', ARGV[1])
redis.call('HDEL', KEYS[1], 'nextPartitions', 'mostPartitions')
redis.call('PUBLISH', KEYS[3], 'control ' .. redis.call('INCR', KEYS[2]))
return 1
