#!lua flags=allow-oom
-- control: pauses, resumes, approves or cancels a campaign with all of its parts (the legs and companions of its
-- stages), and records who did it. A pause or resume may concern only the legs of one push service.
-- Invariant: a campaign and its parts change in one step. A recurring campaign and its unfinished runs also change in
-- one step. The new state of each campaign or part depends on its own old state. A paused campaign is on no lane and
-- not in the schedule. A cancelled campaign is on its lane until workers have closed its slices (see `unpark`).
-- After a pause of the legs of one service, the campaign itself is also paused if all of its unfinished parts are
-- paused. If such legs are resumed, a paused campaign continues with them.
-- If a campaign has not begun, a cancel ends it immediately, because it has no slices to close. `promote` does not
-- begin such a campaign. A campaign with parts ends with its last part.
-- The control epoch counts the changes that workers must apply, so each call raises it. A refused call and an outdated
-- request of a worker do not raise it. Workers report the epoch that they have applied (see `synccontrol`).
-- Each resume begins a new round; the number of a round is the number of resumes. The round has a new guard trial,
-- because the problem may have been fixed. With 'unguarded', the guard is off in this round. Each resume also sets the
-- sums of the answers of all campaigns of the app to 0.
-- If a campaign was paused before its start, its send time may have passed when it is resumed or approved. The campaign
-- then starts now, and times relative to the start count from now. A campaign with `localTime` keeps its local times.
-- During a repartition of the store, a campaign that has not begun waits in the schedule. A recurring campaign returns
-- to the schedule after a resume. A stage that waited at a gate waits there again after a resume. A campaign that needs
-- approval is resumed only by an approval, and never by its submitter. If a gate has paused a campaign, a resume or an
-- approval overrides only the verdict of that gate.
-- A worker's request names the round that the worker knows. If the campaign or part in ARGV 10 is in a later round, the
-- request changes nothing, because the problem may have been fixed. A worker's request to pause the campaign because of
-- a gate changes nothing if that gate has opened since.
-- KEYS 1 lane, 2 running campaigns, 3 schedule, 4 ended campaigns, 5 control epoch, 6 answers of the app, 7 wake
--      channel, 8 store, 9 changes, 10 gates, 11 campaigns that wait for approval, 12... six keys for each id in
--      ARGV 11...: campaign or part, open slices, guard trial, guard watch, declines, timeline
-- ARGV 1 'pause' | 'resume' | 'approve' | 'cancel'
--      2 reason ('' for none)
--      3 'unguarded' to turn the guard off, else ''
--      4 'person' | 'worker': who acts
--      5 name of the person ('' if unknown)
--      6 round that the caller knows ('' for any)
--      7 place of the stage whose gate pauses the campaign ('' for none)
--      8 '1' if only an approval can resume the paused campaign
--      9 push service whose legs change ('' for all parts)
--      10 id of the campaign or part whose round is ARGV 6
--      11... ids: each campaign, followed by its parts
-- An entry of the timeline has, separated by tabs: ms since the epoch, ARGV 1, ARGV 4, ARGV 5, reason. The last 200
-- entries are kept.
-- Returns one of:
--      {epoch, then an array for each campaign and part}
--      false if the first campaign does not exist
--      {-1} without a change if the caller does not list an unfinished run or a part
-- The array of a campaign or part is empty if the campaign or part does not exist, else:
--      new state
--      1 if this call ended it, else 0
--      if this call resumed it: why it was paused ('' for no reason; missing for a part that continues with its
--        campaign)
local first = redis.call('HMGET', KEYS[12], 'state', 'stage', 'lastRun', 'openRuns')
if not first[1] then return false end
local function base_of(place) return 12 + 6 * (place - 11) end
local listed = {}
for place = 11, #ARGV do listed[ARGV[place]] = true end
for run in string.gmatch((first[4] or '') .. ' ' .. (first[3] or ''), '%S+') do
  if not listed[run] then return {-1} end
end
for place = 11, #ARGV do
  for name in string.gmatch(redis.call('HGET', KEYS[base_of(place)], 'parts') or '', '%S+') do
    if not listed[ARGV[place] .. '~' .. name] then return {-1} end
  end
end
local round = 0
for place = 11, #ARGV do
  if ARGV[place] == ARGV[10] then round = tonumber(redis.call('HGET', KEYS[base_of(place)], 'round') or 0) end
end
local changes_nothing = ARGV[6] ~= '' and round > tonumber(ARGV[6])
  or ARGV[7] ~= '' and tonumber(first[2] or 0) ~= tonumber(ARGV[7])
local service = ARGV[9]
-- Returns whether a part is a leg of the service: its id has the form CAMPAIGN~STAGE-SERVICE or
-- CAMPAIGN~STAGE-SERVICE.COMPANION.
local function is_meant(id) return service == '' or string.match(id, '~%w+%-([^.]+)') == service end
local epoch = changes_nothing and tonumber(redis.call('GET', KEYS[5]) or 0) or redis.call('INCR', KEYS[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local is_held = redis.call('HGET', KEYS[8], 'nextPartitions')
-- Whether this call resumes the campaign whose parts follow, and whether it does so by an approval.
local resumes, approves = false, false

local function follows(was, begun, due, campaign)
  local verb = ARGV[1]
  if verb == 'pause' and (was == 'active' or was == 'scheduled' or was == 'waiting') then return 'paused' end
  if verb == 'cancel' and (was == 'active' or was == 'scheduled' or was == 'waiting' or was == 'paused') then
    return 'cancelled'
  end
  if not resumes or was ~= 'paused' then return was end
  if campaign[7] then return 'waiting' end
  return not begun and (due > now or is_held or campaign[6]) and 'scheduled' or 'active'
end

-- Adds an entry to the timeline of a campaign.
local function write_timeline(base)
  local reason = service == '' and ARGV[2] or 'leg ' .. service .. (ARGV[2] ~= '' and ': ' .. ARGV[2] or '')
  redis.call('RPUSH', KEYS[base + 5], table.concat({now, ARGV[1], ARGV[4], ARGV[5], reason}, '\t'))
  redis.call('LTRIM', KEYS[base + 5], -200, -1)
end

-- Whether this call has added the change of a service's legs to the stream of changes. All of their parts change
-- together, so one entry is enough.
local is_told = false

-- Records a new state of a campaign or leg.
local function note(base, id, state, campaign)
  if not campaign[8] or not is_told then
    redis.pcall('XADD', KEYS[9], 'MAXLEN', '~', 1000, '*', 'campaign', id, 'state', state, 'reason', ARGV[2],
      'by', ARGV[4])
  end
  if campaign[8] then is_told = true end
  if approves then redis.call('HSET', KEYS[base], 'approval', 'given', 'approvedBy', ARGV[5]) end
  if resumes or ARGV[2] == '' then
    redis.call('HDEL', KEYS[base], 'reason')
  else
    redis.call('HSET', KEYS[base], 'reason', ARGV[2])
  end
  if state == 'paused' and ARGV[4] == 'worker' then
    redis.call('HSET', KEYS[base], 'pausedItself', 1)
  else
    redis.call('HDEL', KEYS[base], 'pausedItself')
  end
  if state == 'paused' and ARGV[8] == '1' then redis.call('HSET', KEYS[base], 'approval', 'needed') end
  if state == 'paused' and ARGV[7] ~= '' then
    redis.call('HSET', KEYS[base], 'verdict', ARGV[7])
  elseif resumes and campaign[10] then
    redis.call('HSET', KEYS[base], 'overridden', campaign[10])
    redis.call('HDEL', KEYS[base], 'verdict')
  end
  if resumes then redis.call('ZADD', KEYS[10], 'XX', now, id) end
end

-- Updates the list of campaigns that wait for approval.
local function list_approval(base, id, state, due)
  if state == 'paused' and redis.call('HGET', KEYS[base], 'approval') == 'needed' then
    redis.call('ZADD', KEYS[11], 'NX', math.max(now, due), id)
  else
    redis.call('ZREM', KEYS[11], id)
  end
end

local function begin_round(base)
  redis.call('DEL', KEYS[base + 2], KEYS[base + 3], KEYS[base + 4], KEYS[6])
  redis.call('HINCRBY', KEYS[base], 'round', 1)
  redis.call('HSET', KEYS[base], 'unguarded', ARGV[3] == 'unguarded' and 1 or 0)
end

-- Sets the start of a campaign or part that has none, and its expiration if it is relative to the start.
local function set_start(base)
  local times = redis.call('HMGET', KEYS[base], 'isLocal', 'lifetime', 'start')
  if times[1] or times[3] then return end
  redis.call('HSET', KEYS[base], 'start', now)
  if times[2] then
    redis.call('HSET', KEYS[base], 'expiration', string.format('%d', math.floor(now / 1000) + times[2]))
  end
end

local function put(base, id, state, begun, due, campaign)
  if state == 'scheduled' then
    if not campaign[9] then redis.call('ZADD', KEYS[3], due, id) end
    return 0
  end
  redis.call('ZREM', KEYS[3], id)
  if state == 'paused' then redis.call('LREM', KEYS[1], 0, id) end
  if state == 'paused' or state == 'waiting' then return 0 end
  if state == 'cancelled' and not begun and not campaign[9] then
    redis.call('HSET', KEYS[base], 'finishedAt', now, 'finished', campaign[3])
    redis.call('DEL', KEYS[base + 1])
    if not campaign[8] then redis.call('ZADD', KEYS[4], now, id) end
    return 1
  end
  redis.call('SADD', KEYS[2], id)
  if campaign[9] then return 0 end
  local open = redis.call('LLEN', KEYS[base + 1])
  if open > 0 then
    if not redis.call('LPOS', KEYS[1], id) then redis.call('RPUSH', KEYS[1], id) end
    redis.call('PUBLISH', KEYS[7], 'slices ' .. open)
  end
  return 0
end

-- `whole` is the campaign whose parts follow in ARGV. `is_over`: whether all of its parts so far have ended.
-- `pauses_parts`: whether the campaign was paused before this call.
local answer, whole, is_over, pauses_parts = {epoch}, nil, true, false
-- Returns whether one of the parts that follow a campaign is paused.
local function has_paused_part(place)
  for other = place + 1, #ARGV do
    local part = redis.call('HMGET', KEYS[base_of(other)], 'state', 'of')
    if part[1] and not part[2] then return false end
    if part[1] == 'paused' then return true end
  end
  return false
end

-- Changes the state of the whole campaign after the legs of one service have changed.
local function follow_legs()
  if not whole or service == '' or changes_nothing or not whole.has_changed then return end
  write_timeline(whole.base)
  -- The gate must be checked now, because its decision ignores paused legs.
  redis.call('ZADD', KEYS[10], 'XX', now, whole.id)
  local state = whole.state
  if resumes or whole.is_idle then state = follows(state, whole.begun, whole.due, whole.campaign) end
  if state == whole.state then return end
  redis.call('HSET', KEYS[whole.base], 'state', state)
  note(whole.base, whole.id, state, whole.campaign)
  put(whole.base, whole.id, state, whole.begun, whole.due, whole.campaign)
  answer[whole.place][1] = state
end

-- Ends a cancelled campaign if all of its parts have ended.
local function end_whole()
  if not whole or not is_over or whole.state ~= 'cancelled' then return end
  if redis.call('HGET', KEYS[whole.base], 'finishedAt') then return end
  redis.call('HSET', KEYS[whole.base], 'finishedAt', now)
  redis.call('SREM', KEYS[2], whole.id)
  redis.call('ZREM', KEYS[10], whole.id)
  redis.call('ZADD', KEYS[4], now, whole.id)
  answer[whole.place][2] = 1
end

for place = 11, #ARGV do
  local id, base = ARGV[place], base_of(place)
  local campaign = redis.call('HMGET', KEYS[base], 'state', 'sendAt', 'slices', 'approval', 'submittedBy', 'repeat',
    'gated', 'of', 'parts', 'verdict', 'reason')
  local was = campaign[1]
  if not was then
    answer[#answer + 1] = {}
  else
    local begun, due = redis.call('SISMEMBER', KEYS[2], id) == 1, tonumber(campaign[2] or 0)
    if not campaign[8] then
      follow_legs()
      end_whole()
      whole, is_over, pauses_parts = nil, true, was == 'paused'
      approves = ARGV[1] == 'approve' and was == 'paused' and campaign[4] == 'needed' and ARGV[5] ~= ''
        and ARGV[5] ~= campaign[5]
      resumes = (was == 'paused' or ARGV[1] == 'resume' and has_paused_part(place))
        and (approves or ARGV[1] == 'resume' and campaign[4] ~= 'needed')
    end
    local is_changed = not changes_nothing and (campaign[8] and is_meant(id) or not campaign[8] and service == '')
    local state = is_changed and follows(was, begun, due, campaign) or was
    local is_resumed = was == 'paused' and resumes and state ~= was
    local is_own = not campaign[8] or service ~= '' or not pauses_parts
    answer[#answer + 1] = {state, 0, is_resumed and (campaign[11] or is_own and '') or nil}
    if campaign[9] then
      whole = {base = base, id = id, state = state, place = #answer, begun = begun, due = due, campaign = campaign,
        is_idle = true, has_changed = false}
    end
    if state ~= was then
      redis.call('HSET', KEYS[base], 'state', state)
      if not campaign[8] then write_timeline(base) end
      if not campaign[8] or service ~= '' then
        note(base, id, state, campaign)
      elseif was == 'paused' then
        redis.call('HDEL', KEYS[base], 'reason', 'pausedItself')
      end
    elseif resumes and is_changed and not campaign[8] then
      -- The campaign itself was not paused, only some of its legs.
      write_timeline(base)
    end
    if not campaign[8] then list_approval(base, id, state, due) end
    -- The parts that change begin the same round, even if some of them have ended.
    if resumes and is_changed then begin_round(base) end
    if resumes and state ~= was and due <= now and not begun and not campaign[7] then set_start(base) end
    if state ~= was then answer[#answer][2] = put(base, id, state, begun, due, campaign) end
    if campaign[8] and not redis.call('HGET', KEYS[base], 'finishedAt') then
      is_over = false
      if whole and state ~= 'paused' then whole.is_idle = false end
    end
    if whole and campaign[8] and state ~= was then whole.has_changed = true end
  end
end
follow_legs()
end_whole()
if not changes_nothing then redis.call('PUBLISH', KEYS[7], 'control ' .. epoch) end
return answer
