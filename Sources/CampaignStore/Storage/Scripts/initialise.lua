#!lua
-- initialise: fixes the number of partitions the first time a store is used.
-- Invariant: one partition count, whoever comes first; users would be looked for in the wrong place under another. Only
-- `repartition` changes it.
-- KEYS 1 store
-- ARGV 1 partitions, 2 version of the key layout
-- Returns {partitions, version} as stored
redis.call('HSETNX', KEYS[1], 'partitions', ARGV[1])
redis.call('HSETNX', KEYS[1], 'version', ARGV[2])
local store = redis.call('HMGET', KEYS[1], 'partitions', 'version')
return {tonumber(store[1]), tonumber(store[2])}
