#!lua
-- rank: notes how many users of a partition were seen how long ago, for a campaign with a limit.
-- Invariant: nothing is noted any more once it is known how many users each partition takes. Until then a partition may be
-- noted again: by whoever has its slice next.
-- KEYS 1 campaign, 2 ranking
-- ARGV 1 partition, 2 its histogram ('' to note nothing), 3 seconds after the last note for which notes are kept
-- Returns 1 when every slice may have been noted or is finished, else 0
local campaign = redis.call('HMGET', KEYS[1], 'slices', 'finished', 'quotas')
if not campaign[1] or campaign[3] then return 0 end
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
  redis.call('EXPIRE', KEYS[2], ARGV[3])
end
return redis.call('HLEN', KEYS[2]) + tonumber(campaign[2] or 0) >= tonumber(campaign[1]) and 1 or 0
