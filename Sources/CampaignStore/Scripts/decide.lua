#!lua flags=allow-oom
-- decide: says which variant of a campaign those get who have waited for the best, or that it is unclear.
-- Keeps: it is said once; whoever comes to another end later keeps to it, so that all who have waited get the same.
-- With it the gate opens. Where it is unclear, that is said of a round: who resumes the campaign then knows it.
-- KEYS 1 campaign, 2 timeline
-- ARGV 1 place of the variant ('' where it is unclear), 2 its name, 3 'person' | 'worker': whose word it is, 4 who it
--      is ('' where nobody says), 5 round in which it is unclear, 6 when it was said, in ms since the epoch ('': now)
-- Returns {place, when, who}, '' for what is not known, or false when there is no such campaign
local campaign = redis.call('HMGET', KEYS[1], 'state', 'winner', 'gate')
if not campaign[1] then return false end
if not campaign[2] and ARGV[1] == '' then
  redis.call('HSET', KEYS[1], 'unclear', ARGV[5])
elseif not campaign[2] then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local at = ARGV[6] == '' and now or tonumber(ARGV[6])
  redis.call('HSET', KEYS[1], 'winner', ARGV[1], 'decidedAt', at, 'decidedBy', ARGV[4])
  if tonumber(campaign[3] or 0) > now then redis.call('HSET', KEYS[1], 'gate', now) end
  redis.call('RPUSH', KEYS[2], table.concat({at, 'decide', ARGV[3], ARGV[4], ARGV[2]}, '\t'))
  redis.call('LTRIM', KEYS[2], -200, -1)
end
local standing = redis.call('HMGET', KEYS[1], 'winner', 'decidedAt', 'decidedBy')
return {standing[1] or '', standing[2] or '', standing[3] or ''}
