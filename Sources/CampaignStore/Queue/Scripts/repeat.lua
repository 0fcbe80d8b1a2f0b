#!lua flags=allow-oom
-- repeat: begins the next run of a repeated campaign, or leaves it out.
-- Invariant: each run is begun once, by Redis' clock, whoever calls this and however often: only the run that is noted as
-- the next one is, and the note moves on in the same step. The campaign lists the run, and a request to take it in is
-- on the intake list: only what the campaign lists is a run of it. Until the run is taken in no other begins. What is
-- paused begins nothing; what has no further run has ended. While the store is held nothing begins.
-- KEYS 1 campaign, 2 schedule, 3 intake list, 4 ended campaigns, 5 store, 6 campaign of the last run
-- ARGV 1 id, 2 when the run is due that is to begin, 3 id of its campaign, 4 request to take it in ('' to leave it out,
--      which a paused one allows too), 5 when the next one is due, after Redis' time ('' for none), 6 runs at most
--      ('' for any number), 7 id of the last run's campaign if the run is left out while that has not ended, else '',
--      8 request to take in the last run
-- Returns {1 when this call began it, 2 when the one before has not ended, else 0; 1 when there is no further run}
local campaign = redis.call('HMGET', KEYS[1], 'state', 'sendAt', 'lastRun', 'runs', 'repeat', 'pending')
local leaves_out = ARGV[4] == ''
if not campaign[5] or campaign[1] ~= 'scheduled' and not (leaves_out and campaign[1] == 'paused') then return {0, 0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = tonumber(campaign[2] or 0)
if campaign[2] ~= ARGV[2] or due > now then
  if campaign[1] == 'scheduled' then redis.call('ZADD', KEYS[2], due, ARGV[1]) end
  return {0, 0}
end
if redis.call('HGET', KEYS[5], 'nextPartitions') then return {0, 0} end
if campaign[6] and not leaves_out then
  -- Somebody may have taken the request off the list: it is there again, and changes nothing where it is not needed.
  if ARGV[8] ~= '' and not redis.call('LPOS', KEYS[3], ARGV[8]) then redis.call('LPUSH', KEYS[3], ARGV[8]) end
  return {0, 0}
end
local answer, runs = 0, tonumber(campaign[4] or 0)
if not leaves_out then
  local last = ARGV[7] ~= '' and campaign[3] == ARGV[7] and redis.call('HMGET', KEYS[6], 'state', 'finishedAt')
  if last and last[1] and not last[2] then
    redis.call('HINCRBY', KEYS[1], 'leftOut', 1)
    answer = 2
  else
    redis.call('LPUSH', KEYS[3], ARGV[4])
    runs = runs + 1
    redis.call('HSET', KEYS[1], 'lastRun', ARGV[3], 'runs', runs, 'pending', 1)
    answer = 1
  end
end
if ARGV[5] == '' or ARGV[6] ~= '' and runs >= tonumber(ARGV[6]) then
  redis.call('HSET', KEYS[1], 'state', 'completed', 'finishedAt', now)
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZADD', KEYS[4], now, ARGV[1])
  return {answer, 1}
end
redis.call('HSET', KEYS[1], 'sendAt', ARGV[5])
if campaign[1] == 'scheduled' then redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1]) end
return {answer, 0}
