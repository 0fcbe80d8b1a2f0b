#!lua flags=allow-oom
-- narrow: fixes the partitions in which a campaign has slices, and the rules of its segments, when it begins to expand.
-- Invariant: this happens once, before `dequeue` hands out the first reference to a slice. So users who join the
-- audience before that moment are included. If a slice of the campaign is already finished, the campaign keeps all its
-- slices: Redis has lost an earlier call of this script.
-- KEYS 1 campaign, 2 open slices, 3 finished slices
-- ARGV 1 bitmap of the partitions that are left out ('' for none), 2 definitions of the segments that the audience
--      depends on ('' for none), 3... the other partitions
-- Returns the definitions in force ('' for none), or false if there is no such campaign
local campaign = redis.call('HMGET', KEYS[1], 'state', 'narrowed', 'definitions')
if not campaign[1] then return false end
if campaign[2] then return campaign[3] or '' end
if ARGV[1] ~= '' and redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('DEL', KEYS[2])
  for i = 3, #ARGV, 500 do redis.call('RPUSH', KEYS[2], unpack(ARGV, i, math.min(i + 499, #ARGV))) end
  redis.call('SET', KEYS[3], ARGV[1])
  redis.call('HSET', KEYS[1], 'slices', #ARGV - 2, 'absent', ARGV[1])
end
redis.call('HSET', KEYS[1], 'narrowed', 1)
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'definitions', ARGV[2]) end
return ARGV[2]
