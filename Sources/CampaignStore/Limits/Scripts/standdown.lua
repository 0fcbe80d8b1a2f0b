#!lua flags=allow-oom
-- standdown: decides whether a worker with mostly bad answers declines a campaign and leaves it to the other workers.
-- Bad answers are suspect answers, which refuse the token or the message, and answers which say that the device is
-- gone.
-- Invariant: the worker declines the campaign if the other workers have enough answers and their answers are within
-- bounds. A quarter of `minimum` (ARGV 3) is enough. If the other workers do not have enough answers yet, or if the
-- guard is already open, only one worker may decline in each round. The wrong settings of a single worker therefore do
-- not pause a campaign. A fault of the campaign itself costs at most twice as many pushes as without this rule.
-- A leased send is a send that `guardtrial` has allowed a worker. If a worker declines before the others have enough
-- answers, its leased sends count as spent. The answers of a worker that has declined are no longer counted.
-- A worker may have leased more than half of the sends of a guard trial, for example because it was alone. It then does
-- not decline before the others have enough answers: its sends, and the half that the others need for a decision, would
-- exceed the limit of the trial.
-- KEYS 1 guard trial, 2 campaign, 3 answers of the app, 4 declines, 5 workers
-- ARGV 1 round that the worker knows: the number of resumes of the campaign
--      2 ms without a heartbeat after which a worker counts as dead
--      3 minimum: number of answers at which the guard decides, and half of the sends of a guard trial
--      4 highest allowed share of suspect answers
--      5 highest allowed share of answers which say that the device is gone
--      6 '1' if the guard is open: it has decided that the campaign may continue
--      7 answers of this worker in the counters of the guard trial
--      8 suspect answers of this worker
--      9 answers to this worker which say that the device is gone
--      10 sends that this worker has leased and not returned
--      11 worker
-- Returns 1 if the worker declines, 0 if it does not, false if the campaign is not active or was resumed since
local campaign = redis.call('HMGET', KEYS[2], 'state', 'round')
if campaign[1] ~= 'active' or tonumber(campaign[2] or 0) ~= tonumber(ARGV[1]) then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = now - ARGV[2]
-- The worker has already declined. The reply of an earlier call was lost.
if tonumber(redis.call('ZSCORE', KEYS[4], ARGV[11]) or 0) > expired then return 1 end
local alive = '(' .. expired
local others = redis.call('ZCOUNT', KEYS[5], alive, '+inf') - redis.call('ZCOUNT', KEYS[4], alive, '+inf') - 1
if others < 1 then return 0 end
local trial = redis.call('HMGET', KEYS[1], 'answers', 'suspects', 'gone', 'leased', 'spent')
local minimum = tonumber(ARGV[3])
local rest = {}
for i = 1, 3 do rest[i] = math.max(0, tonumber(trial[i] or 0) - ARGV[6 + i]) end
local is_known = ARGV[6] ~= '1' and rest[1] * 4 >= minimum
local spent = tonumber(trial[5] or 0)
if is_known then
  if rest[2] > rest[1] * ARGV[4] or rest[3] > rest[1] * ARGV[5] then return 0 end
elseif spent > 0 or ARGV[6] ~= '1' and tonumber(ARGV[10]) > minimum then
  return 0
else
  spent = math.max(1, math.min(minimum, tonumber(ARGV[10])))
end
redis.call('HSET', KEYS[1], 'answers', rest[1], 'suspects', rest[2], 'gone', rest[3],
  'leased', tonumber(trial[4] or 0) - ARGV[10], 'spent', spent, 'at', now)
local app = redis.call('HMGET', KEYS[3], 'answers', 'suspects', 'gone')
for i = 1, 3 do app[i] = math.max(0, tonumber(app[i] or 0) - ARGV[6 + i]) end
redis.call('HSET', KEYS[3], 'answers', app[1], 'suspects', app[2], 'gone', app[3])
redis.call('ZADD', KEYS[4], now, ARGV[11])
redis.call('PEXPIRE', KEYS[4], ARGV[2])
return 1
