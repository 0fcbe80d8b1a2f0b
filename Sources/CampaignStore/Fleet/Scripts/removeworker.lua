#!lua flags=allow-oom
-- removeworker: moves the jobs that a dead worker was taking in back to the producers' list, where they are next in
-- turn. Then it removes the worker from the list of workers, if the worker's processing list is empty.
-- Invariant: a job is in one list at a time. A dead worker stays in the list of workers until its own lists are empty,
-- so none of its slices is lost.
-- KEYS 1 workers, 2 processing list of the worker, 3 intake list of the worker, 4 producers' list, 5 applied: the
--      control epochs that workers have applied, 6 instances, 7 reports of workers
-- ARGV 1 worker, 2 dead instance of the worker ('' for any). If another instance has the name, the script changes
--      nothing
-- Returns 1 if the worker was removed, else 0
if ARGV[2] ~= '' and (redis.call('HGET', KEYS[6], ARGV[1]) or ARGV[2]) ~= ARGV[2] then return 0 end
while redis.call('LMOVE', KEYS[3], KEYS[4], 'LEFT', 'RIGHT') do end
if redis.call('LLEN', KEYS[2]) > 0 then return 0 end
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('HDEL', KEYS[6], ARGV[1])
redis.call('HDEL', KEYS[7], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
