#!lua flags=allow-oom
-- guardwatch: adds up what the fleet was answered to a campaign whose guard is open.
-- Invariant: the sum is of the latest answers, some twice `minimum` at most: what was before is halved until the news find
-- room. Answers from before the campaign was resumed say nothing of what was mended meanwhile.
-- KEYS 1 guard watch, 2 campaign
-- ARGV 1 minimum, then what is new since the worker's last call: 2 answers, 3 suspect ones, 4 devices gone; 5 how often
--      the worker knows the campaign to have been resumed, 6 ms that the sum is kept without news
-- Returns {answers, suspects, gone}, or false when it was resumed since, or does not run any more
local campaign = redis.call('HMGET', KEYS[2], 'round', 'state')
if not campaign[2] or tonumber(campaign[1] or 0) > tonumber(ARGV[5]) then return false end
local watch = redis.call('HMGET', KEYS[1], 'answers', 'suspects', 'gone')
local sum = {tonumber(watch[1] or 0), tonumber(watch[2] or 0), tonumber(watch[3] or 0)}
-- No sum that was ever written takes more rounds, and one that others wrote may take no end of them.
for _ = 1, 64 do
  if sum[1] <= 0 or sum[1] + ARGV[2] <= 2 * ARGV[1] then break end
  for i = 1, 3 do sum[i] = math.floor(sum[i] / 2) end
end
for i = 1, 3 do sum[i] = sum[i] + ARGV[1 + i] end
redis.call('HSET', KEYS[1], 'answers', sum[1], 'suspects', sum[2], 'gone', sum[3])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return sum
