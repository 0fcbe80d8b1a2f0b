#!lua flags=allow-oom
-- bisect: records which targets a worker sends next in its search for a poison target, or ends the search. A poison
-- target kills each worker that sends it. A worker searches for a poison target if several workers have died while they
-- sent the same slice.
-- Invariant: the record is written before the worker sends the first of these targets. If the worker dies, one of the
-- recorded targets may have killed it.
-- KEYS 1 slice
-- ARGV 1 claim id, 2 'first last': indexes of the first and last of these targets; '' to end the search
-- Returns 1, or 0 without a change if the slice has another claim
if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], 'deaths', 'bisected')
else
  redis.call('HSET', KEYS[1], 'bisected', ARGV[2])
end
return 1
