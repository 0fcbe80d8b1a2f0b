#!lua flags=allow-oom
-- bisect: notes which targets of a slice that kills its workers are sent alone, or that the search is over.
-- Invariant: the note is there before the first of them is sent, so a death tells which they were.
-- KEYS 1 slice
-- ARGV 1 claim id, 2 'first last' as indexes of targets, '' to end the search
-- Returns 1, or 0 when the claim is stale
if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], 'deaths', 'bisected')
else
  redis.call('HSET', KEYS[1], 'bisected', ARGV[2])
end
return 1
