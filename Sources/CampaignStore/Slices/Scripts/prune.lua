#!lua flags=allow-oom
-- prune: drops references to campaigns that are not there from the head of a lane, some at a time.
-- Invariant: every campaign that is there stays in the ring, once. The ring may have changed since it was read: it is
-- walked only as far as it has not.
-- KEYS 1 lane, 2... campaigns in the order of the lane
-- ARGV ids of these campaigns
-- Returns the number dropped
local dropped, seen = 0, {}
for i = 1, #ARGV do
  if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[i] then break end
  redis.call('LPOP', KEYS[1])
  if seen[ARGV[i]] or redis.call('EXISTS', KEYS[i + 1]) == 0 then
    dropped = dropped + 1
  else
    redis.call('RPUSH', KEYS[1], ARGV[i])
    seen[ARGV[i]] = true
  end
end
return dropped
