#!lua
-- define: keeps a segment that is a rule, or removes one.
-- Invariant: what rules there are is what whoever adds or removes one has looked at: no two of them can make rules that
-- lead to each other, and none is removed that another one names. The field '' counts the changes.
-- KEYS 1 definitions
-- ARGV 1 how many changes were looked at, 2 name, 3 the rule ('' to remove it)
-- Returns 1, or 0 when there was another change meanwhile
local changes = redis.call('HGET', KEYS[1], '') or '0'
if changes ~= ARGV[1] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[2])
else
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
end
redis.call('HINCRBY', KEYS[1], '', 1)
return 1
