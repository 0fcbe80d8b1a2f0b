#!lua
-- receipt: notes which users did something with a push of a campaign.
-- Keeps: a user counts once for each thing, however often it is said, and for one variant where there are such; what is
-- noted is kept as long as the campaign's results. Of a campaign that is not there, or has none in this partition,
-- nothing is noted.
-- KEYS 1 users who did it, 2 slice
-- ARGV 1 ms for which it is kept while the campaign runs, from the last receipt on, and perhaps the field of the slice
--      that counts it for the variant of all of these users; then users
-- Returns how many of them had not done it before; -1 when there is no such slice
local left = redis.call('PTTL', KEYS[2])
if left == -2 then return -1 end
local milliseconds, field = ARGV[1]:match('^(%d+) ?(.*)$')
local added = redis.call('SADD', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], left > 0 and left or milliseconds)
if field ~= '' and added > 0 then redis.call('HINCRBY', KEYS[2], field, added) end
return added
