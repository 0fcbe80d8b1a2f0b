#!lua
-- activate: writes a campaign, lists its slices, puts it on its lane or into the schedule, and acknowledges the job.
-- Keeps: a campaign is activated once, and its job leaves the processing list only with it. From here on its id is
-- taken even when the campaign's record has gone: a worker that stood still for longer must not begin it again. One
-- whose time is still ahead is on no lane and does not run: `promote` begins it. One that needs approval is paused.
-- What changes is noted for webhooks too (the stream `changes`): a remark, which stops nothing where it can't be made.
-- While the store is held, or when it has another number of partitions than the worker knows, nothing is written.
-- The jobs of a campaign's companions are on the intake list with it, or it is not there: nobody loses one or pushes it
-- twice. A companion begins as its campaign is: paused, waiting for approval, or cancelled, which ends it.
-- KEYS 1 campaign, 2 open slices, 3 lane, 4 all campaigns, 5 worker's intake, 6 job, 7 running campaigns,
--      8 finished slices, 9 schedule, 10 wake channel, 11 store, 12 changes, 13 intake list, 14 ended campaigns,
--      15 the campaign whose companion it is (its own where it is none), 16... jobs of its companions
-- ARGV 1 id, 2 job as taken, 3 seconds an id is remembered after the campaign has begun, 4 when it begins in ms since
--      the epoch (0: now), 5 digest of the job as `reserve` said it, 6 number of partitions of the store, 7 number
--      of partitions listed, 8 why it needs approval ('': it does not), 9 number of companions, then of each its job
--      and that in its canonical form, then partitions, then a bitmap of those that have no slice ('' for none), then
--      fields and values of the campaign
-- Returns 1, 0 when it had been activated before, -1 when nothing may begin here now, -2 when the id of a companion
--         names another job, or 2 when it has ended with the campaign whose companion it is
local known = redis.call('GET', KEYS[6])
if known and #known > 40 or redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('LREM', KEYS[5], 1, ARGV[2])
  return 0
end
local store = redis.call('HMGET', KEYS[11], 'partitions', 'nextPartitions')
if store[2] or store[1] and store[1] ~= ARGV[6] then return -1 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ahead = math.max(0, tonumber(ARGV[4]) - now)
local companions = tonumber(ARGV[9])
local first = 10 + 2 * companions
local behind = first + tonumber(ARGV[7])
for i = 1, companions do
  local other = redis.call('GET', KEYS[15 + i])
  if other and other:sub(1, 40) ~= redis.sha1hex(ARGV[9 + 2 * i]) then return -2 end
end
local lead = KEYS[15] ~= KEYS[1] and redis.call('HMGET', KEYS[15], 'state', 'approval', 'reason') or {}
local has_ended, waits = lead[1] == 'cancelled', ARGV[8] ~= '' or lead[1] == 'paused'
-- First what may be of another type, and then is refused: a reference to what is not there leads nowhere.
redis.call('ZADD', KEYS[4], now, ARGV[1])
for i = 1, companions do
  if not redis.call('GET', KEYS[15 + i]) then
    redis.call('LPUSH', KEYS[13], ARGV[8 + 2 * i])
    redis.call('SET', KEYS[15 + i], redis.sha1hex(ARGV[9 + 2 * i]), 'EX', ARGV[3] + math.ceil(ahead / 1000))
  end
end
if has_ended then
  redis.call('HSET', KEYS[1], 'finishedAt', now, 'finished', ARGV[7], 'reason', lead[3] or '')
  redis.call('ZADD', KEYS[14], now, ARGV[1])
elseif waits then
  local reason = ARGV[8] ~= '' and ARGV[8] or lead[3]
  if ARGV[8] ~= '' or lead[2] == 'needed' then redis.call('HSET', KEYS[1], 'approval', 'needed') end
  if reason then redis.call('HSET', KEYS[1], 'reason', reason) end
elseif ahead > 0 then
  redis.call('ZADD', KEYS[9], ARGV[4], ARGV[1])
else
  redis.call('RPUSH', KEYS[3], ARGV[1])
  redis.call('SADD', KEYS[7], ARGV[1])
end
redis.call('DEL', KEYS[2])
redis.call('SET', KEYS[6], ARGV[5] .. ' activated', 'EX', ARGV[3] + math.ceil(ahead / 1000))
local state = has_ended and 'cancelled' or waits and 'paused' or ahead > 0 and 'scheduled' or 'active'
redis.call('HSET', KEYS[1], 'state', state, 'createdAt', now, 'slices', ARGV[7], 'partitions', ARGV[6],
  unpack(ARGV, behind + 1))
if ARGV[behind] ~= '' then
  redis.call('SET', KEYS[8], ARGV[behind])
  redis.call('HSET', KEYS[1], 'absent', ARGV[behind])
end
if not has_ended then
  for i = first, behind - 1, 500 do redis.call('RPUSH', KEYS[2], unpack(ARGV, i, math.min(i + 499, behind - 1))) end
end
redis.call('LREM', KEYS[5], 1, ARGV[2])
redis.pcall('XADD', KEYS[12], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[1], 'state', state)
if has_ended then return 2 end
if ahead == 0 and not waits then redis.call('PUBLISH', KEYS[10], 'slices ' .. ARGV[7]) end
return 1
