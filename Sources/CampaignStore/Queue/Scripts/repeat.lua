#!lua flags=allow-oom
-- repeat: begins the next run of a recurring campaign, or skips it.
-- Invariant: each run begins once, by Redis' clock, whichever worker calls the script, and however often. Only the run
-- that is recorded as the next one begins. The same step records the run after it.
-- A run is a campaign of its own. The script stores the run as the recurring campaign's last run, and puts a request to
-- take in the run on the producers' list. The next run can't begin before a worker has taken in this run. A paused
-- recurring campaign begins no run. During a repartition of the store, no run begins.
-- The recurring campaign also stores its earlier runs that have not ended (`openRuns`), because `control` changes them
-- too.
-- The recurring campaign ends when its final run has been taken in. Until then, a pause or a cancel of the recurring
-- campaign applies to this run, because `activate` reads the state of the recurring campaign.
-- KEYS 1 recurring campaign, 2 schedule, 3 producers' list, 4 ended campaigns, 5 store, 6... campaigns of the runs in
--      ARGV 9...
-- ARGV 1 id of the recurring campaign
--      2 due time of the run that begins or is skipped (ms since the epoch)
--      3 id of this run
--      4 request to take in this run ('' to skip the run; a run can be skipped also while the campaign is paused)
--      5 due time of the run after it, which is in the future (ms since the epoch; '' for none)
--      6 maximum number of runs in total ('' for no limit)
--      7 maximum number of runs that have not ended when this run begins; if there are more, the run is skipped
--      8 request to take in the last run that began ('' for none)
--      9... ids of the earlier runs that may not have ended
-- Returns two numbers:
--      1 if this call began the run, 2 if it skipped the run because too many runs have not ended, else 0
--      1 if this call ended the recurring campaign, else 0
local campaign = redis.call('HMGET', KEYS[1], 'state', 'sendAt', 'runs', 'repeat', 'pending', 'finalRun')
local leaves_out = ARGV[4] == ''
if not campaign[4] or campaign[1] ~= 'scheduled' and not (leaves_out and campaign[1] == 'paused') then return {0, 0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = tonumber(campaign[2] or 0)
if campaign[2] ~= ARGV[2] or due > now then
  if campaign[1] == 'scheduled' then redis.call('ZADD', KEYS[2], due, ARGV[1]) end
  return {0, 0}
end
if redis.call('HGET', KEYS[5], 'nextPartitions') then return {0, 0} end
if campaign[5] and (campaign[6] or not leaves_out) then
  -- No worker has taken in the last run yet. If the request for that run is missing on the list, it may be lost, so the
  -- script adds it again. A second request does no harm.
  if ARGV[8] ~= '' and not redis.call('LPOS', KEYS[3], ARGV[8]) then redis.call('LPUSH', KEYS[3], ARGV[8]) end
  return {0, 0}
end

local function complete()
  redis.call('HSET', KEYS[1], 'state', 'completed', 'finishedAt', now)
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZADD', KEYS[4], now, ARGV[1])
end

if campaign[6] then
  complete()
  return {0, 1}
end
local answer, runs = 0, tonumber(campaign[3] or 0)
if not leaves_out then
  local open, number = {}, 0
  for place = 9, #ARGV do
    local run = redis.call('HMGET', KEYS[place - 3], 'state', 'finishedAt')
    if run[1] and not run[2] then
      number = number + 1
      -- When clocks go back, two runs can have the same local time and therefore the same id.
      if ARGV[place] ~= ARGV[3] then open[#open + 1] = ARGV[place] end
    end
  end
  if number > tonumber(ARGV[7]) then
    redis.call('HINCRBY', KEYS[1], 'leftOut', 1)
    answer = 2
  else
    redis.call('LPUSH', KEYS[3], ARGV[4])
    runs = runs + 1
    redis.call('HSET', KEYS[1], 'lastRun', ARGV[3], 'runs', runs, 'pending', 1, 'openRuns', table.concat(open, ' '))
    answer = 1
  end
end
if ARGV[5] == '' or ARGV[6] ~= '' and runs >= tonumber(ARGV[6]) then
  if answer == 1 then
    redis.call('HSET', KEYS[1], 'finalRun', 1)
    return {answer, 0}
  end
  complete()
  return {answer, 1}
end
redis.call('HSET', KEYS[1], 'sendAt', ARGV[5])
if campaign[1] == 'scheduled' then redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1]) end
return {answer, 0}
