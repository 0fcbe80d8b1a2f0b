#!lua
-- forget: takes a worker that left nothing behind off the list of workers.
-- Keeps: a silent worker stays listed until its lists are empty, so nothing it held is forgotten.
-- KEYS 1 workers, 2 its processing list, 3 its intake
-- ARGV 1 worker
-- Returns 1 when it was taken off
if redis.call('LLEN', KEYS[2]) > 0 or redis.call('LLEN', KEYS[3]) > 0 then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
