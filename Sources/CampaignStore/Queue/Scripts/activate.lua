#!lua
-- activate: writes a campaign and all of its parts (the legs and companions of its stages), opens the slices of its
-- first stage, and removes the job from the worker's intake list. A slice is open if no worker has it.
-- Invariant: a campaign is activated once, and its job leaves the intake list only with the activation. From then on,
-- the campaign's id stays reserved for the time in ARGV 2, even if the campaign's record expires earlier. A worker that
-- was stopped for a long time and then continues can therefore not begin the campaign again.
-- A campaign with a start time in the future is on no lane. `promote` begins it at that time. A campaign that needs
-- approval is paused.
-- The campaign and its parts are written in one step. The campaign names its parts, and each part names the campaign.
-- The stages after the first wait at their gates and have no open slices (see `opengate`).
-- The script also adds the change to the stream `changes` for webhooks. The activation succeeds even if this step
-- fails.
-- The slices of every second leg are in the reverse order. One expansion finds the targets of all legs in a partition,
-- so workers that begin with different legs expand different partitions.
-- During a repartition of the store, or if its number of partitions differs from ARGV 5, the script writes nothing.
-- A recurring campaign begins its runs as campaigns of their own. If the recurring campaign is paused, its run begins
-- in the state paused. If the recurring campaign is cancelled, the run ends as cancelled. A run is valid only if the
-- recurring campaign stores it as its last run.
-- KEYS 1 campaign, 2 job, 3 intake list of the worker, 4 lane, 5 all campaigns, 6 running campaigns, 7 schedule,
--      8 ended campaigns, 9 gates, 10 wake channel, 11 store, 12 changes, 13 the recurring campaign of a run, or the
--      campaign itself if it is not a run, 14 attempts to take in jobs (see `beginjob`), 15 campaigns that wait for
--      approval, 16... three keys for the campaign and then for each part: campaign or part, open slices, finished
--      slices
-- ARGV 1 the job's entry as the worker took it from the list
--      2 seconds for which the id stays reserved after the start of the campaign
--      3 start in ms since the epoch (0: now)
--      4 digest of the job as `reserve` returned it
--      5 number of partitions of the store
--      6 reason why the campaign needs approval ('' if it does not)
--      7 number of partitions with a slice
--      then these partitions, then a bitmap of the partitions without a slice ('' for none)
--      then for the campaign and for each part:
--        id
--        kind: 'sent' for slices in order, 'reversed' for slices in the reverse order, 'parts' for a campaign with
--          parts, 'gated' for a part that waits at a gate
--        number of the values that follow
--        fields and values
-- Returns one of:
--      1 if this call activated the campaign
--      0 if the campaign was activated before
--      -1 during a repartition, or if the number of partitions differs from ARGV 5
--      -2 if the recurring campaign does not store this run as its last run
--      2 if the run ended because its recurring campaign is cancelled
local function acknowledge()
  local name = redis.sha1hex(ARGV[1])
  redis.call('LREM', KEYS[3], 1, ARGV[1])
  redis.call('HDEL', KEYS[14], name, name .. ':failures')
end

local known = redis.call('GET', KEYS[2])
if known and #known > 40 or redis.call('HLEN', KEYS[1]) > 0 then
  acknowledge()
  redis.call('HDEL', KEYS[13], 'pending')
  return 0
end
local store = redis.call('HMGET', KEYS[11], 'partitions', 'nextPartitions')
if store[2] or store[1] and store[1] ~= ARGV[5] then return -1 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ahead = math.max(0, tonumber(ARGV[3]) - now)
local listed = tonumber(ARGV[7])
local bitmap, at = ARGV[8 + listed], 9 + listed
local id = ARGV[at]
local is_run = KEYS[13] ~= KEYS[1]
local lead = is_run and redis.call('HMGET', KEYS[13], 'state', 'lastRun', 'reason') or {}
if is_run and lead[2] ~= id then return -2 end
local has_ended, waits = lead[1] == 'cancelled', ARGV[6] ~= '' or lead[1] == 'paused'
local reason = ARGV[6] ~= '' and ARGV[6] or lead[3]
-- If a key has the wrong type, reading it fails here. No later command may fail: a second call would find a campaign
-- that is written only in part, and take it for activated. Only the entry in the list of all campaigns is written
-- before the campaign: an entry without a campaign is harmless.
redis.call('LLEN', KEYS[4])
redis.call('SCARD', KEYS[6])
redis.call('HLEN', KEYS[14])
for i = 7, 9 do redis.call('ZCARD', KEYS[i]) end
redis.call('ZCARD', KEYS[15])
for place = 16, #KEYS, 3 do redis.call('HLEN', KEYS[place]) end
redis.call('ZADD', KEYS[5], now, id)

local function state_of(kind)
  if has_ended then return 'cancelled' end
  if waits then return 'paused' end
  if kind == 'gated' then return 'waiting' end
  return ahead > 0 and 'scheduled' or 'active'
end

local function write(place, part, kind, fields)
  local state, slices = state_of(kind), kind == 'parts' and 0 or listed
  redis.call('ZADD', KEYS[5], now, part)
  redis.call('HSET', KEYS[place], 'state', state, 'createdAt', now, 'slices', slices, 'partitions', ARGV[5],
    unpack(fields))
  if has_ended then redis.call('HSET', KEYS[place], 'finishedAt', now, 'finished', slices) end
  if kind == 'gated' then redis.call('HSET', KEYS[place], 'gated', 1) end
  if kind ~= 'parts' and bitmap ~= '' then
    redis.call('SET', KEYS[place + 2], bitmap)
    redis.call('HSET', KEYS[place], 'absent', bitmap)
  end
  if has_ended or kind == 'gated' then return 0 end
  if state == 'active' then redis.call('SADD', KEYS[6], part) end
  if kind == 'parts' then return 0 end
  redis.call('DEL', KEYS[place + 1])
  local push = kind == 'reversed' and 'LPUSH' or 'RPUSH'
  for i = 8, 7 + listed, 500 do redis.call(push, KEYS[place + 1], unpack(ARGV, i, math.min(i + 499, 7 + listed))) end
  if state == 'scheduled' then redis.call('ZADD', KEYS[7], ARGV[3], part) end
  if state == 'active' then redis.call('RPUSH', KEYS[4], part) end
  return state == 'active' and listed or 0
end

local opened, has_gates = 0, false
for place = 16, #KEYS, 3 do
  local kind, number = ARGV[at + 1], tonumber(ARGV[at + 2])
  local fields = {unpack(ARGV, at + 3, at + 2 + number)}
  opened = opened + write(place, ARGV[at], kind, fields)
  has_gates = has_gates or kind == 'gated'
  at = at + 3 + number
end
if reason and (waits or has_ended) then redis.call('HSET', KEYS[1], 'reason', reason) end
if ARGV[6] ~= '' then
  redis.call('HSET', KEYS[1], 'approval', 'needed')
  if not has_ended then redis.call('ZADD', KEYS[15], now + ahead, id) end
end
if has_ended then
  redis.call('ZADD', KEYS[8], now, id)
elseif has_gates then
  redis.call('ZADD', KEYS[9], now + ahead, id)
end
if is_run then redis.call('HDEL', KEYS[13], 'pending') end
redis.call('SET', KEYS[2], ARGV[4] .. ' activated', 'EX', ARGV[2] + math.ceil(ahead / 1000))
acknowledge()
redis.pcall('XADD', KEYS[12], 'MAXLEN', '~', 1000, '*', 'campaign', id, 'state', redis.call('HGET', KEYS[1], 'state'))
if has_ended then return 2 end
if opened > 0 then redis.call('PUBLISH', KEYS[10], 'slices ' .. opened) end
return 1
