#!lua flags=allow-oom
-- guardwatch: adds up what the fleet was answered to a campaign whose guard is open.
-- Keeps: the sum is of the latest answers, of at least `minimum` and at most twice that where there are so many: beyond
-- it is halved. Answers from before the campaign was resumed say nothing of what was mended meanwhile.
-- KEYS 1 guard watch, 2 campaign
-- ARGV 1 minimum, then what is new since the worker's last call: 2 answers, 3 suspect ones, 4 devices gone; 5 how often
--      the worker knows the campaign to have been resumed, 6 ms that the sum is kept without news
-- Returns {answers, suspects, gone}, or false when it was resumed since, or does not run any more
local campaign = redis.call('HMGET', KEYS[2], 'round', 'state')
if not campaign[2] or tonumber(campaign[1] or 0) > tonumber(ARGV[5]) then return false end
local watch = redis.call('HMGET', KEYS[1], 'answers', 'suspects', 'gone')
local sum = {}
for i = 1, 3 do sum[i] = tonumber(watch[i] or 0) + ARGV[1 + i] end
local kept = sum
if sum[1] >= 2 * ARGV[1] then kept = {math.floor(sum[1] / 2), math.floor(sum[2] / 2), math.floor(sum[3] / 2)} end
redis.call('HSET', KEYS[1], 'answers', kept[1], 'suspects', kept[2], 'gone', kept[3])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return sum
