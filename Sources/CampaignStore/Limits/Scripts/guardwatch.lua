#!lua flags=allow-oom
-- guardwatch: adds up the answers that the whole fleet has got for a campaign whose guard is open. A guard is open
-- after it has decided that the campaign may continue. A suspect answer refuses the token or the message.
-- Invariant: the sums cover the latest answers, at most about twice `minimum` (ARGV 1). Older sums are halved until the
-- new answers fit. Answers from before the last resume are not counted, because the cause may have been fixed since.
-- KEYS 1 guard watch, 2 campaign
-- ARGV 1 minimum: number of answers at which a guard decides
--      2 answers since the worker's last call
--      3 suspect answers since then
--      4 answers since then which say that the device is gone
--      5 number of resumes of the campaign that the worker knows
--      6 ms until the sums expire without a new answer
-- Returns {answers, suspect answers, devices gone}, or false if the campaign was resumed since or no longer exists
local campaign = redis.call('HMGET', KEYS[2], 'round', 'state')
if not campaign[2] or tonumber(campaign[1] or 0) > tonumber(ARGV[5]) then return false end
local watch = redis.call('HMGET', KEYS[1], 'answers', 'suspects', 'gone')
local sum = {tonumber(watch[1] or 0), tonumber(watch[2] or 0), tonumber(watch[3] or 0)}
-- A sum that Carillon writes never needs more than 64 halvings. A sum that another program wrote could need any number
-- of halvings, so the loop has a limit.
for _ = 1, 64 do
  if sum[1] <= 0 or sum[1] + ARGV[2] <= 2 * ARGV[1] then break end
  for i = 1, 3 do sum[i] = math.floor(sum[i] / 2) end
end
for i = 1, 3 do sum[i] = sum[i] + ARGV[1 + i] end
-- The sums of a campaign that has ended were removed.
if campaign[2] == 'completed' or campaign[2] == 'failed' or campaign[2] == 'cancelled' then return sum end
redis.call('HSET', KEYS[1], 'answers', sum[1], 'suspects', sum[2], 'gone', sum[3])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return sum
