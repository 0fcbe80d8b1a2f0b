#!lua
-- initialise: stores the number of partitions and the version of the key layout when a store is first used.
-- Invariant: the first caller decides the number of partitions. With another number, workers would search for users in
-- the wrong partition. Only `repartition` changes the number.
-- KEYS 1 store
-- ARGV 1 number of partitions, 2 version of the key layout
-- Returns {number of partitions, version}, both as the store has them
redis.call('HSETNX', KEYS[1], 'partitions', ARGV[1])
redis.call('HSETNX', KEYS[1], 'version', ARGV[2])
local store = redis.call('HMGET', KEYS[1], 'partitions', 'version')
return {tonumber(store[1]), tonumber(store[2])}
