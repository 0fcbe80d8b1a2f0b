#!lua flags=allow-oom
-- commit: merges outcomes into the ledger, prunes what they say is dead, and grants more targets.
-- Keeps: records only rise (granted < waiting within an attempt, attempts rise, every terminal outcome above all;
-- of two terminals `accepted` wins, else the first stays), and the counters move with them. A target is granted only
-- to the owner of the claim, and in doubt until it is answered; a stale owner's outcomes still count, but it is given
-- nothing. Before the seal there is nothing to merge or grant: then this only renews the lease.
-- Whose sequence and number of replays are not the stored ones is given nothing either: Redis has forgotten commits, or
-- was told by somebody else what it had forgotten. A replay tells again what Redis had acknowledged; it is taken from a
-- stale owner too. Outcomes under another seal are of another list of targets, and are dropped.
-- It runs when memory is full: what it adds is bounded by the sealed targets.
-- KEYS 1 slice, 2 ledger, 3 retry, 4 results, 5 reasons, 6 devices, 7 users, 8 outbox, 9 owner, 10 targets,
--      11 quarantine
-- ARGV 1 claim id, 2 lease ms, 3 credit, 4 resent, 5 seal, 6 'sequence replays' as last acknowledged ('' for a
--      replay), 7 high-water mark as last acknowledged, in a replay (else 0), 8 records, 9 number of result lines,
--      10... lines in the order of the records they are of, two each: token in hex, line; behind them details, seven
--      each: index, action ('' | 'prune' | 'quarantine'), raw token, user, timestamp ms, token in hex, reason
-- Records come in runs of neighbours, sorted by index: index of the first u32, their number u16, state u8 that all of
-- them end in if it is the same outcome and none has a detail (else 0), u8 1 if each has a line (0: none has), then the
-- 12 bytes of the ledger for each: state u8, attempt u8, status u16, reason u8, free u8, at u48 (ms); a waiting one has
-- its delay in ms in `at` instead.
-- Returns {owner (1 or 0), phase ('foreign': under another seal), granted, in doubt, waiting, ms to the next retry (-1:
--          none), retries as index u32, attempt u8, free u8, sequence and replays that were stored}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local slice = redis.call('HMGET', KEYS[1], 'claim', 'phase', 'count', 'granted', 'doubt', 'waiting', 'app', 'seal',
  'seq', 'deaths', 'trial', 'replays')
local phase, seq, replays = slice[2], tonumber(slice[9] or 0), tonumber(slice[12] or 0)
local count, granted = tonumber(slice[3] or 0), tonumber(slice[4] or 0)
local doubt, waiting = tonumber(slice[5] or 0), tonumber(slice[6] or 0)
local owner, sealed, replay = slice[1] == ARGV[1], phase == 'sealed', ARGV[6] == ''
if sealed and (slice[8] or '') ~= ARGV[5] then return {0, 'foreign', granted, doubt, waiting, -1, '', seq, replays} end
local moved, settled, restored = {}, false, replay
local campaign = KEYS[1]:match('slice:(.*)$')

local function count_by(field, n) moved[field] = (moved[field] or 0) + n end

local first_line = 10
local details = {}
for i = first_line + 2 * tonumber(ARGV[9]), #ARGV, 7 do details[tonumber(ARGV[i])] = i end

-- Lines of records that have become terminal, nearly always all there are: what stands in ARGV one behind the other
-- goes into the hash in one call. (Of at most 500 records: `unpack` takes 8,000 values.)
local lines_from, lines_to = 1, 0
local function write_lines()
  if lines_to > lines_from then redis.call('HSET', KEYS[4], unpack(ARGV, lines_from, lines_to)) end
  lines_from, lines_to = 1, 0
end
local function keep_lines(line, number)
  if line ~= lines_to + 1 then
    write_lines()
    lines_from = line
  end
  lines_to = line + 2 * number - 1
end

-- An acceptance in place of another outcome: the line of that one goes, under the token that the target list has. That
-- has pages of 128 targets, each u8 token length, u16 user length, token, user.
local function remove_result(index)
  write_lines()
  local page = redis.call('LINDEX', KEYS[10], math.floor(index / 128)) or ''
  local at = 1
  for _ = 1, index % 128 do
    if at >= #page then return end
    local token_length, high, low = page:byte(at, at + 2)
    at = at + 3 + token_length + high * 256 + low
  end
  if at >= #page then return end
  local token = page:sub(at + 3, at + 2 + page:byte(at))
  redis.call('HDEL', KEYS[5], index)
  redis.call('HDEL', KEYS[4], (token:gsub('.', function(byte) return ('%02x'):format(byte:byte()) end)))
end

-- What others have yet to hear of. By hand where it can be: a table for each would cost more than all the rest.
local outgoing, texts = {}, {}
local function json(text)
  texts[text] = texts[text] or cjson.encode(text)
  return texts[text]
end
local function outbox_entry(action, user, hex, reason, timestamp, edited)
  local tail = ('"app":%s,"campaign":%s,"at":"%.0f"}'):format(json(slice[7]), json(campaign), now)
  return table.concat({'{"action":"', action, '","user":', cjson.encode(user), ',"token":"', hex, '","reason":',
    json(reason), ',"timestamp":"', timestamp, '","edited":', tostring(edited), ',', tail})
end

-- What a record that has just become terminal entails.
local function settle(index, line, reason_code, overrides)
  if overrides then remove_result(index) end
  if line then keep_lines(line, 1) end
  local i = details[index]
  if not i then return end
  local action, token, user, timestamp, hex = ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4]), ARGV[i + 5]
  if reason_code == 255 then redis.call('HSET', KEYS[5], index, ARGV[i + 6]) end
  if action == '' then return end
  local edited = user ~= ''
  if edited then
    -- Times as text: cjson keeps fourteen digits of a number.
    local note = action == 'quarantine' and cjson.encode({user = user, token = hex, app = slice[7],
      reason = ARGV[i + 6], campaign = campaign, at = string.format('%.0f', now)})
    if not edit_device(KEYS[6], KEYS[7], KEYS[11], user, token, action, timestamp, note) then return end
  else
    -- A raw token stands in its own partition, where its owner is known; whoever empties the outbox edits the device.
    local owner = redis.call('HGET', KEYS[9], token)
    if not owner then return end
    user = owner:match('^%d+:(.*)$')
  end
  if action == 'prune' then count_by('pruned', 1) else count_by('quarantined', 1) end
  if action == 'prune' or not edited then
    outgoing[#outgoing + 1] = outbox_entry(action, user, hex, ARGV[i + 6], ARGV[i + 4], edited)
  end
end

local wire = ARGV[8]
local runs = {}
local position, line = 1, first_line
while position <= #wire do
  local a, b, c, d, high, low, state, has_lines = wire:byte(position, position + 7)
  local first, number = ((a * 256 + b) * 256 + c) * 256 + d, high * 256 + low
  -- No target, no record: an index beyond the count is another slice's, or of a seal that Redis forgot.
  local known = math.min(number, count - first)
  if known > 0 then
    runs[#runs + 1] = {first = first, last = first + known - 1, number = known, state = state, at = position + 8,
      line = has_lines == 1 and line}
  end
  if has_lines == 1 then line = line + 2 * number end
  position = position + 8 + number * 12
end

-- Merges the record that begins at `base` of the wire into the old one; returns the new record, or nil to leave the
-- old, and whether another outcome stood there.
local function merge(base, index, old)
  local state, attempt = wire:byte(base, base + 1)
  local old_state, old_attempt = old:byte(1, 2)
  -- Whoever lost the claim may say how a target ended, but not that it is to be sent again: its new owner may be at it,
  -- and since what a replay tells of, another may have been. What is left in doubt is safe.
  if state < 16 and not (owner or replay) or state == 1 and replay then return nil end
  if old_state >= 16 then
    if state ~= 16 or old_state == 16 then return nil end
    count_by(old_state, -1)
  elseif state < 16 and attempt * 2 + state <= old_attempt * 2 + old_state then
    return nil
  elseif old_state == 1 then
    waiting = waiting - 1
    redis.call('ZREM', KEYS[3], index)
  else
    doubt = doubt - 1
  end
  if state >= 16 then
    count_by(state, 1)
    settled = true
    return wire:sub(base, base + 11), old_state >= 16
  end
  if state == 0 then
    doubt = doubt + 1
    return wire:sub(base, base + 11)
  end
  local delay = struct.unpack('>I6', wire, base + 6)
  waiting = waiting + 1
  redis.call('ZADD', KEYS[3], now + delay, index)
  return wire:sub(base, base + 5) .. struct.pack('>I6', now + delay)
end

if replay and sealed then
  local known = math.min(tonumber(ARGV[7]), count)
  if known > granted then
    doubt = doubt + known - granted
    granted = known
  end
end

-- The first attempts of that many bytes' worth of targets, in doubt or not granted.
local zeros = ('\0'):rep(12)
local function blank(bytes)
  while #zeros < bytes do zeros = zeros .. zeros end
  return zeros:sub(1, bytes)
end

local i = 1
while sealed and i <= #runs do
  -- Runs that are near each other are read and written at once; a gap of up to 16 records is cheaper copied than split.
  local first, last, j = runs[i].first, runs[i].last, i
  while j < #runs and runs[j + 1].first > last and runs[j + 1].first - last <= 17 do
    j = j + 1
    last = runs[j].last
  end
  if last >= granted then
    -- Redis forgot a grant that it had acknowledged: what was sent had been granted.
    doubt = doubt + last + 1 - granted
    granted = last + 1
    restored = restored or not owner
  end
  local block = redis.call('GETRANGE', KEYS[2], first * 12, last * 12 + 11)
  local size = (last - first + 1) * 12
  local untouched = block == ''
  if #block < size then block = block .. blank(size - #block) end
  local pieces, from = {}, 1
  for k = i, j do
    local run = runs[k]
    local offset, bytes = (run.first - first) * 12, run.number * 12
    if run.state > 0 and (untouched or block:sub(offset + 1, offset + bytes) == blank(bytes)) then
      -- First attempts in doubt, all with the same outcome: what nearly every push is.
      pieces[#pieces + 1] = block:sub(from, offset)
      pieces[#pieces + 1] = wire:sub(run.at, run.at + bytes - 1)
      from = offset + bytes + 1
      doubt = doubt - run.number
      count_by(run.state, run.number)
      if run.line then keep_lines(run.line, run.number) end
      settled = true
    else
      for n = 0, run.number - 1 do
        local index = run.first + n
        local old = block:sub(offset + 1, offset + 12)
        local record, overrides = merge(run.at + n * 12, index, old)
        if record then
          pieces[#pieces + 1] = block:sub(from, offset)
          pieces[#pieces + 1] = record
          from = offset + 13
          if record:byte(1) >= 16 then settle(index, run.line and run.line + 2 * n, record:byte(5), overrides) end
        end
        offset = offset + 12
      end
    end
  end
  if from > 1 then
    pieces[#pieces + 1] = block:sub(from)
    redis.call('SETRANGE', KEYS[2], first * 12, table.concat(pieces))
  end
  i = j + 1
end
write_lines()
if #outgoing > 0 then redis.call('RPUSH', KEYS[8], unpack(outgoing)) end

local retries = {}
local expected = owner and sealed and ARGV[6] == seq .. ' ' .. replays
if expected then
  local credit = tonumber(ARGV[3])
  if credit > 0 and waiting > 0 then
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, math.min(credit, 500))) do
      local index = tonumber(member)
      local record = redis.call('GETRANGE', KEYS[2], index * 12, index * 12 + 11)
      -- A target that is held for days may use up what fits into a byte; it is then still granted and answered in turn.
      local attempt = math.min(record:byte(2) + 1, 255)
      redis.call('SETRANGE', KEYS[2], index * 12, '\0' .. string.char(attempt) .. record:sub(3))
      redis.call('ZREM', KEYS[3], member)
      retries[#retries + 1] = struct.pack('>I4BB', index, attempt, record:byte(6))
      waiting, doubt, credit = waiting - 1, doubt + 1, credit - 1
    end
  end
  local fresh = math.min(credit, count - granted)
  if fresh > 0 then granted, doubt = granted + fresh, doubt + fresh end
end
if sealed then
  redis.call('HSET', KEYS[1], 'granted', granted, 'doubt', doubt, 'waiting', waiting,
    'seq', owner and not replay and seq + 1 or seq)
  -- The owner must not take for granted to itself what others say that they were granted.
  if restored then redis.call('HINCRBY', KEYS[1], 'replays', 1) end
end
-- A slice that gets on is not what kills its workers, unless just that is being tried.
if settled and slice[10] and not slice[11] then redis.call('HDEL', KEYS[1], 'deaths') end
if owner then redis.call('HSET', KEYS[1], 'lease', now + tonumber(ARGV[2])) end
-- Not a second time, where it was counted and the reply was lost; nor when the slice has been counted.
if sealed and ARGV[4] ~= '0' and (expected or not owner) then redis.call('HINCRBY', KEYS[1], 'resent', ARGV[4]) end
for field, n in pairs(moved) do
  if n ~= 0 then redis.call('HINCRBY', KEYS[1], field, n) end
end
local due = -1
if waiting > 0 then
  local nearest = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  if nearest[2] then due = math.max(0, tonumber(nearest[2]) - now) end
end
return {owner and 1 or 0, phase or '', granted, doubt, waiting, due, table.concat(retries), seq, replays}
