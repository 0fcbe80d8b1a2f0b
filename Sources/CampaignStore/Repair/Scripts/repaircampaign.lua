#!lua flags=allow-oom
-- repaircampaign: compares the state of a campaign with its totals and with the lists that contain it. Repairs the
-- lists if ARGV 1 is '1'.
-- Invariant: every campaign is in the list of all campaigns. A running campaign is in `running`, and a scheduled
-- campaign is in the schedule. A campaign with open slices that workers may take is on its lane and on no other. An
-- ended campaign expires. A campaign that no longer exists is in no list except lanes; workers drop it from a lane when
-- they find it. The totals are the sums over the finished slices. Each finished slice has an outcome for every target.
-- A part names its campaign. Every script keeps these rules, so a difference is not a change in progress.
-- Each field whose name is a number from 16 on counts an outcome, so a new outcome needs no change here.
-- KEYS 1 campaign or part, 2 all campaigns, 3 running campaigns, 4 schedule, 5 ended campaigns, 6 expiring campaigns,
--      7 open slices, 8 finished slices, 9... lanes
-- ARGV 1 '1' to repair, '0' to check only
--      2 id of the campaign or part
--      3 id of the campaign of a part ('' if ARGV 2 is not a part)
--      4... names of the lanes
-- Returns the findings:
--      the name of a list that wrongly contains the campaign
--      '+' and the name of a list in which the campaign is missing
--      'state' if the campaign has no state
--      'of' if a part does not name its campaign
--      'outcomes' if the outcomes do not add up to the number of targets
--      'slices' if the number of finished slices is wrong
local repairs, id, found = ARGV[1] == '1', ARGV[2], {}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local campaign = redis.call('HMGET', KEYS[1], 'state', 'sendAt', 'createdAt', 'finishedAt', 'startedAt', 'lane',
  'slices', 'finished', 'partitions', 'parts', 'of')
local state, has_ended = campaign[1], campaign[4]
local is_there = redis.call('EXISTS', KEYS[1]) == 1
-- A campaign without a state can't be checked: a worker isolates it.
if is_there and not state then return {'state'} end

local function note(what) found[#found + 1] = what end

-- Checks whether a sorted set contains the campaign. `is_meant`: true if it must contain the campaign, false if it must
-- not, nil if both are right.
local function hold(place, name, is_meant, score)
  local is_in = redis.call('ZSCORE', KEYS[place], id)
  if is_in and is_meant == false then
    note(name)
    if repairs then redis.call('ZREM', KEYS[place], id) end
  elseif is_meant and not is_in then
    note('+' .. name)
    if repairs then redis.call('ZADD', KEYS[place], score, id) end
  end
end

local function hold_running(is_meant)
  local is_in = redis.call('SISMEMBER', KEYS[3], id) == 1
  if is_in and is_meant == false then
    note('running')
    if repairs then redis.call('SREM', KEYS[3], id) end
  elseif is_meant and not is_in then
    note('+running')
    if repairs then redis.call('SADD', KEYS[3], id) end
  end
end

local function hold_lanes(is_meant)
  for i = 9, #KEYS do
    local is_in, is_its = redis.call('LPOS', KEYS[i], id), ARGV[i - 5] == campaign[6]
    if is_in and not (is_meant and is_its) then
      note('lane:' .. ARGV[i - 5])
      if repairs then redis.call('LREM', KEYS[i], 0, id) end
    elseif is_meant and is_its and not is_in then
      note('+lane:' .. ARGV[i - 5])
      if repairs then redis.call('RPUSH', KEYS[i], id) end
    end
  end
end

if not is_there then
  -- An expired campaign leaves the list of all campaigns when the next campaign ends.
  if not redis.call('ZSCORE', KEYS[6], id) then hold(2, 'all', false) end
  hold_running(false)
  hold(4, 'schedule', false)
  return found
end
local takes = not has_ended and (state == 'active' or state == 'cancelled')
hold(2, 'all', true, campaign[3] or now)
-- If a campaign has parts, its parts are in the schedule instead of the campaign.
hold(4, 'schedule', state == 'scheduled' and not campaign[10], campaign[2] or now)
if takes then
  hold_running(true)
elseif has_ended or state == 'scheduled' or state == 'waiting' then
  hold_running(false)
end
if not takes then
  hold_lanes(false)
elseif redis.call('LLEN', KEYS[7]) > 0 then
  hold_lanes(true)
end
-- A part expires with its campaign.
if has_ended and ARGV[3] == '' and redis.call('TTL', KEYS[1]) == -1 then hold(5, 'ended', true, has_ended) end

if ARGV[3] ~= '' and campaign[11] ~= ARGV[3] then
  note('of')
  if repairs then redis.call('HSET', KEYS[1], 'of', ARGV[3]) end
end

local sum = 0
local targets, fields = 0, redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if fields[i] == 'targets' then targets = tonumber(fields[i + 1]) or -1 end
  if (tonumber(fields[i]) or 0) >= 16 then sum = sum + (tonumber(fields[i + 1]) or 0) end
end
if sum ~= targets then note('outcomes') end
-- The bitmap has a bit for each finished slice and for each partition without a slice; the spare bits of its last byte
-- do not count. Two kinds of ended campaigns have no bits to count: a campaign that was cancelled before it began, and
-- a campaign whose bitmap has already expired.
if not campaign[10] and not (has_ended and (not campaign[5] or redis.call('EXISTS', KEYS[8]) == 0)) then
  local count = redis.call('BITCOUNT', KEYS[8])
  local partitions = tonumber(campaign[9] or 0)
  for i = partitions, math.ceil(partitions / 8) * 8 - 1 do count = count - redis.call('GETBIT', KEYS[8], i) end
  if count ~= (campaign[8] or 0) + partitions - (campaign[7] or 0) then note('slices') end
end
return found
