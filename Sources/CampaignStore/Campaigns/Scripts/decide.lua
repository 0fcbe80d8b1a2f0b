#!lua flags=allow-oom
-- decide: records the variant that a person has chosen as the winner of an A/B test.
-- Invariant: the winner is recorded once. The first decision counts, whether a person or the gate (`opengate`) made it.
-- The decision makes the gate due immediately, so that a worker checks it.
-- KEYS 1 campaign, 2 timeline, 3 gates
-- ARGV 1 place of the variant, 2 name of the variant, 3 the person ('' if unknown), 4 id of the campaign
-- Returns {place of the winner, time of the decision in ms since the epoch, person who decided ('' for the gate or an
-- unknown person)} as recorded, or false if there is no such campaign
local campaign = redis.call('HMGET', KEYS[1], 'state', 'winner')
if not campaign[1] then return false end
if not campaign[2] then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('HSET', KEYS[1], 'winner', ARGV[1], 'decidedAt', now, 'decidedBy', ARGV[3])
  redis.call('ZADD', KEYS[3], 'XX', now, ARGV[4])
  redis.call('RPUSH', KEYS[2], table.concat({now, 'decide', 'person', ARGV[3], ARGV[2]}, '\t'))
  redis.call('LTRIM', KEYS[2], -200, -1)
end
local standing = redis.call('HMGET', KEYS[1], 'winner', 'decidedAt', 'decidedBy')
return {standing[1] or '', standing[2] or '', standing[3] or ''}
