#!lua flags=allow-oom
-- prune: removes the ids of campaigns that no longer exist from the head of a lane, a batch at a time.
-- Invariant: every existing campaign stays on the lane once. If the lane has changed since the caller read it, the
-- script stops at the first difference.
-- KEYS 1 lane, 2... the first campaigns of the lane, in order, as the caller read them
-- ARGV ids of these campaigns
-- Returns the number of removed ids
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
