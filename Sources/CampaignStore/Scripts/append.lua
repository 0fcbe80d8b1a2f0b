#!lua
-- append: adds pages of targets to the list that is being built, and renews the lease.
-- Keeps: only the owner of the claim builds, so no target stands in the list twice; nothing comes after the seal.
-- KEYS 1 slice, 2 building
-- ARGV 1 claim id, 2 lease ms, 3... pages of 128 targets each (at most 4); only the last of all has fewer
-- Returns the number of pages in the list, or -1 when the claim is stale or the slice sealed
local slice = redis.call('HMGET', KEYS[1], 'claim', 'phase')
if slice[1] ~= ARGV[1] or slice[2] ~= 'expanding' then return -1 end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'lease', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]))
return redis.call('RPUSH', KEYS[2], unpack(ARGV, 3))
