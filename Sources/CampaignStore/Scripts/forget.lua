#!lua flags=allow-oom
-- forget: gives the jobs that a dead worker was taking in back to the intake list, next in turn, and takes the worker
-- off the list of workers if it left nothing else behind.
-- Keeps: a job is in one list at a time. A silent worker stays listed until its lists are empty, so nothing it held is
-- forgotten.
-- KEYS 1 workers, 2 its processing list, 3 its intake, 4 producers' list, 5 epochs that workers have followed
-- ARGV 1 worker
-- Returns 1 when it was taken off
while redis.call('LMOVE', KEYS[3], KEYS[4], 'LEFT', 'RIGHT') do end
if redis.call('LLEN', KEYS[2]) > 0 then return 0 end
redis.call('HDEL', KEYS[5], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
