#!lua
-- repartition: stores the new number of partitions, after all data has moved to its new partition.
-- Invariant: no campaign begins between `hold` and this script. Every later campaign begins with the new number.
-- KEYS 1 store, 2 control epoch (the script raises it, so that workers read the store again), 3 wake channel
-- ARGV 1 the new number of partitions
-- Returns 1, or 0 if no repartition to this number is in progress
if redis.call('HGET', KEYS[1], 'nextPartitions') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'partitions', ARGV[1])
redis.call('HDEL', KEYS[1], 'nextPartitions', 'mostPartitions')
redis.call('PUBLISH', KEYS[3], 'control ' .. redis.call('INCR', KEYS[2]))
return 1
