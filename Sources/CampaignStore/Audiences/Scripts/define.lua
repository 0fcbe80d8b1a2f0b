#!lua
-- define: stores the rule of a segment, or removes it.
-- Invariant: the caller first checks all rules. The script changes a rule only if no rule has changed since then. So
-- two callers can't make rules that refer to each other, and a caller can't remove a rule that another rule names. The
-- field '' counts the changes.
-- KEYS 1 definitions
-- ARGV 1 number of changes when the caller checked the rules, 2 name of the segment, 3 rule ('' to remove it)
-- Returns 1, or 0 if a rule has changed since the check
local changes = redis.call('HGET', KEYS[1], '') or '0'
if changes ~= ARGV[1] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[2])
else
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
end
redis.call('HINCRBY', KEYS[1], '', 1)
return 1
