#!lua flags=allow-oom
-- removeworker: moves the jobs that a dead worker was taking in back to the producers' list, where they are next in
-- turn. Then it removes the worker from the list of workers, if the worker's processing list is empty.
-- Invariant: a job is in one list at a time. A dead worker stays listed until its lists are empty, so no slice of it is
-- lost.
-- KEYS 1 workers, 2 its processing list, 3 its intake, 4 producers' list, 5 epochs that workers have applied, 6
--      instances, 7 reports of workers
-- ARGV 1 worker, 2 its instance ('' for any): another instance of that name stays
-- Returns 1 if the worker was removed, else 0
if ARGV[2] ~= '' and (redis.call('HGET', KEYS[6], ARGV[1]) or ARGV[2]) ~= ARGV[2] then return 0 end
while redis.call('LMOVE', KEYS[3], KEYS[4], 'LEFT', 'RIGHT') do end
if redis.call('LLEN', KEYS[2]) > 0 then return 0 end
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('HDEL', KEYS[6], ARGV[1])
redis.call('HDEL', KEYS[7], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
