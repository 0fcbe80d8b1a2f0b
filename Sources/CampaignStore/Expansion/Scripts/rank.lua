#!lua
-- rank: records when the users of a partition were last seen, as a histogram, for a campaign with a `limit` of users.
-- When the histograms of all slices are recorded, a worker computes the quotas (see `quota`).
-- Invariant: nothing is recorded after the campaign has its quotas. Until then, the next worker that has the slice of
-- the same partition may record it again.
-- KEYS 1 campaign, 2 ranking
-- ARGV 1 partition, 2 histogram of its users ('' to record nothing), 3 seconds from the last record until all records
--      expire
-- Returns 1 if every slice is finished or has a histogram and the campaign has no quotas yet, else 0
local campaign = redis.call('HMGET', KEYS[1], 'slices', 'finished', 'quotas')
if not campaign[1] or campaign[3] then return 0 end
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
  redis.call('EXPIRE', KEYS[2], ARGV[3])
end
return redis.call('HLEN', KEYS[2]) + tonumber(campaign[2] or 0) >= tonumber(campaign[1]) and 1 or 0
