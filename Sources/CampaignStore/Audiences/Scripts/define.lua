#!lua
-- define: stores the rule of a segment, or removes it.
-- Invariant: the script changes a rule only if no rule has changed since the caller checked the rules. So two callers
-- can't make rules that refer to each other, and a caller can't remove a rule that another rule names. The field ''
-- counts the changes.
-- KEYS 1 definitions
-- ARGV 1 number of changes at the caller's check, 2 name, 3 rule ('' to remove it)
-- Returns 1, or 0 if there was another change since the check
local changes = redis.call('HGET', KEYS[1], '') or '0'
if changes ~= ARGV[1] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[2])
else
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
end
redis.call('HINCRBY', KEYS[1], '', 1)
return 1
