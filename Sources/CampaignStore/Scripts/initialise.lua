#!lua
-- initialise: fixes the number of partitions the first time a store is used.
-- Keeps: one partition count for the life of the store; users would be looked for in the wrong place under another.
-- KEYS 1 store
-- ARGV 1 partitions, 2 version of the key layout
-- Returns {partitions, version} as stored
redis.call('HSETNX', KEYS[1], 'partitions', ARGV[1])
redis.call('HSETNX', KEYS[1], 'version', ARGV[2])
local store = redis.call('HMGET', KEYS[1], 'partitions', 'version')
return {tonumber(store[1]), tonumber(store[2])}
