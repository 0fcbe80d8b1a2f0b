#!lua flags=allow-oom
-- guardtrial: allows a worker some sends while the campaign's guard is undecided, and adds up the answers of the fleet.
-- A send that the script allows a worker is a leased send. A suspect answer refuses the token or the message.
-- Invariant: until `minimum` answers are counted (ARGV 1), the whole fleet has leased at most twice `minimum` sends.
-- This includes the sends of workers that have declined the campaign (`spent`). If a worker dies, its leased sends get
-- no answer. If no worker reports an answer or returns a send during a whole lease time (ARGV 2), the script leases
-- these sends again. Answers from before the last resume are not counted, because the cause may have been fixed since.
-- The script also adds up the answers of all campaigns of an app. The guard uses these sums for campaigns that are too
-- small to get enough answers of their own. When these sums reach twice `minimum` answers, they are halved.
-- KEYS 1 guard trial, 2 campaign, 3 answers of the app
-- ARGV 1 minimum: number of answers at which the guard decides
--      2 lease time in ms
--      3 number of sends that the worker wants
--      4 answers since the worker's last call
--      5 suspect answers since then
--      6 answers since then which say that the device is gone
--      7 leased sends that the worker returns: unused, or with an answer that does not count
--      8 number of resumes of the campaign that the worker knows
-- Returns false if the campaign was resumed since, or an array:
--      answers, suspect answers, devices gone: sums of the campaign
--      number of sends leased by this call
--      number of leased sends of the fleet without an answer
--      answers, suspect answers, devices gone: sums of the app
local campaign = redis.call('HMGET', KEYS[2], 'round', 'state')
if tonumber(campaign[1] or 0) > tonumber(ARGV[8]) then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local trial = redis.call('HMGET', KEYS[1], 'answers', 'suspects', 'gone', 'leased', 'returned', 'at', 'spent')
local answers, suspects = tonumber(trial[1] or 0) + ARGV[4], tonumber(trial[2] or 0) + ARGV[5]
local gone, leased = tonumber(trial[3] or 0) + ARGV[6], tonumber(trial[4] or 0)
local returned, minimum = tonumber(trial[5] or 0) + ARGV[7], tonumber(ARGV[1])
local is_news = tonumber(ARGV[4]) + tonumber(ARGV[7]) > 0
local limit = 2 * minimum - tonumber(trial[7] or 0)
-- Redis may have lost the record of a lease. Every answered send was leased, so at least `answers` sends were leased.
local left = limit - math.max(leased - returned, answers)
local is_lost = left <= 0 and not is_news and now - tonumber(trial[6] or now) > tonumber(ARGV[2])
if is_lost then left = limit - answers end
-- For a campaign that has ended, only the sums of the app are updated.
local is_over = campaign[2] == 'completed' or campaign[2] == 'failed' or campaign[2] == 'cancelled'
local share = 0
if answers < minimum and not is_over then share = math.max(0, math.min(tonumber(ARGV[3]), left)) end
-- For a worker that wants to send, the lost leases count as returned. For a worker that only waits, these sends are
-- still in flight: another worker is about to take over the dead worker's slices.
if is_lost and share > 0 then returned = leased - answers end
leased = leased + share
if not is_over and (is_news or share > 0 or not trial[6]) then
  redis.call('HSET', KEYS[1], 'answers', answers, 'suspects', suspects, 'gone', gone, 'leased', leased,
    'returned', returned, 'at', now)
end
local app = redis.call('HMGET', KEYS[3], 'answers', 'suspects', 'gone')
for i = 1, 3 do app[i] = tonumber(app[i] or 0) + ARGV[3 + i] end
if tonumber(ARGV[4]) > 0 then
  if app[1] >= 2 * minimum then
    for i = 1, 3 do app[i] = math.floor(app[i] / 2) end
  end
  redis.call('HSET', KEYS[3], 'answers', app[1], 'suspects', app[2], 'gone', app[3])
end
return {answers, suspects, gone, share, leased - returned - answers, app[1], app[2], app[3]}
