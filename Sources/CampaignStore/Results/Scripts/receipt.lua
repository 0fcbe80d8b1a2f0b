#!lua
-- receipt: notes which users did something with a push of a campaign.
-- Invariant: a user counts once for each thing, however often it is said, and for one variant where there are such, and
-- only if a push of the campaign may have been delivered to the user; what is noted is kept as long as the campaign's
-- results. Of a campaign that is not there, or has none in this partition, nothing is noted.
-- KEYS 1 users who did it, 2 slice, 3 index of its users, 4 ledger
-- ARGV 1 ms for which it is kept while the campaign runs, from the last receipt on, and perhaps the field of the slice
--      that counts it for the variant of all of these users; then two each: user, hash of the user as a number
-- Returns how many of them had not done it before; -1 when there is no such slice, or nothing is sealed; -2 when the
-- index is to be built
local left = redis.call('PTTL', KEYS[2])
if left == -2 then return -1 end
local slice = redis.call('HMGET', KEYS[2], 'seal', 'granted', 'count')
if not slice[1] or (slice[3] or '0') == '0' then return -1 end
local from, count = recipient_entries(KEYS[3], slice[1])
if not from then return -2 end
local granted, reached = tonumber(slice[2] or 0), {}
for i = 2, #ARGV, 2 do
  if may_have_reached(KEYS[3], KEYS[4], from, count, granted, tonumber(ARGV[i + 1])) then
    reached[#reached + 1] = ARGV[i]
  end
end
if #reached == 0 then return 0 end
local milliseconds, field = ARGV[1]:match('^(%d+) ?(.*)$')
local added = redis.call('SADD', KEYS[1], unpack(reached))
redis.call('PEXPIRE', KEYS[1], left > 0 and left or milliseconds)
if field ~= '' and added > 0 then redis.call('HINCRBY', KEYS[2], field, added) end
return added
