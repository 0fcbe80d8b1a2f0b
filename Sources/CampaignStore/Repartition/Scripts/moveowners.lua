#!lua
-- moveowners: takes entries out of a partition's index of owners that have been written where they belong.
-- Invariant: only what is as it was when it was copied leaves, so what came meanwhile is copied the next time.
-- KEYS 1 owner
-- ARGV two each: token, its entry as it was copied
-- Returns how many have left
local moved = 0
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then moved = moved + redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return moved
