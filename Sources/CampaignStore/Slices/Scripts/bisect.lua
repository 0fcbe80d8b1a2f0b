#!lua flags=allow-oom
-- bisect: records which targets of a slice that kills its workers are sent alone, or ends the search.
-- Invariant: the record is written before the first of these targets is sent. If the worker dies, the record therefore
-- contains the targets that it sent.
-- KEYS 1 slice
-- ARGV 1 claim id, 2 'first last' as indexes of targets, '' to end the search
-- Returns 1, or 0 if the claim is stale
if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], 'deaths', 'bisected')
else
  redis.call('HSET', KEYS[1], 'bisected', ARGV[2])
end
return 1
