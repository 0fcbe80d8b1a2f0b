#!lua flags=allow-oom
-- commit: merges outcomes into the ledger, prunes devices that the outcomes report as gone, and grants more targets.
-- Invariant: a record changes only in one direction, and the counters change in the same step. The order of the states
-- is: granted, waiting for a retry, the same two states of each further attempt, terminal outcome. The first terminal
-- outcome stays, unless `acceptlate` replaces it with `accepted`.
-- The history of a record has a bit for "an attempt was sent and not answered" (see `outcome.lua`). This bit is never
-- cleared. A target with this bit never ends with an outcome that says "not delivered".
-- A worker may have lost its claim when it calls the script. The new owner of the slice may then have sent the same
-- push. The script therefore refuses outcomes of such a worker that say "not delivered", and accepts its other
-- outcomes.
-- The script grants targets only to the owner of the claim. A granted target is in doubt until its answer is recorded.
-- Before the list of targets is sealed (final), the script only renews the lease.
-- If targets have their own send times (see `seal`), the script grants a target only after its time, by Redis' clock.
-- A target is sent only if its user still has the device and is on no suppression list that applies. For the targets in
-- ARGV 15..., the script checks this when it grants them.
-- A user departs by losing a device or by opting out (`departures.lua`). ARGV 13 is the number of departures that the
-- worker has handled. The reply has the users of all later departures. The worker checks the targets of these users
-- with `regrant` before it sends these targets. If this script prunes a device, no check is needed: the only target of
-- this device in the slice has ended.
-- In a campaign with frequency caps, the script withholds a target if its user has reached a cap: the worker does not
-- send the push. The status of the target's record is the code of its outcome, and a bit in the record's history marks
-- the target as withheld. The present or the next owner of the slice then records this outcome as terminal.
-- If a target ends without a push, the script removes it from the counters of its user in the same step.
-- If the user of a target was erased (`blank.lua`), the script counts the outcome and stores nothing else.
-- The slice has a sequence number, which is the number of its commits, and the number of its replays. The script
-- compares both with the numbers that the worker knows. If they differ, Redis has lost commits, or another worker has
-- replayed commits. The script then grants nothing.
-- A replay is a call that repeats everything that Redis had acknowledged. The script accepts a replay also from a
-- worker that has lost its claim.
-- The seal is the id of the claim that sealed the list of targets. If the worker knows another seal than the slice has,
-- the worker's outcomes belong to another list, and the script ignores them.
-- The script also runs when Redis has no free memory, because the memory that it adds is limited by the number of
-- sealed targets.
-- KEYS 1 slice, 2 ledger, 3 retry, 4 results, 5 reasons, 6 devices, 7 users, 8 outbox, 9 owner, 10 quarantine,
--      11 attributes, 12 pressure, 13 departures, 14 targets, 15... suppression lists that apply
-- ARGV 1 claim id
--      2 ms that the lease lasts
--      3 maximum number of targets to grant. In a replay: the decisions about the granted targets, u32 each (see
--        `grant.lua`; '' for none)
--      4 number of targets in doubt that the worker sends again; the field `resent` of the slice counts them
--      5 seal
--      6 'sequence replays': the two numbers of the last acknowledged call ('' for a replay)
--      7 in a replay the number of granted targets after the last acknowledged call, else 0
--      8 names of service, app and campaign, each u8 length and text
--      9 heads of stretches (see below)
--      10 details (see below)
--      11 app
--      12 rules for frequency caps and badges ('' for none; `read_rules` in `grant.lua` has the format)
--      13 number of departures that the worker has handled ('': the number that the slice has stored)
--      14 number of targets to check
--      15... three values for each target to check: index, token, user
--      then the records of each stretch
--      then two values for each result line (a field of `results`), in the order of their records: text of the token,
--        line
-- A stretch is a run of records with consecutive indexes. Stretches are sorted by index. Either all records of a
-- stretch are terminal, or none. The head of a stretch is:
--      u32 index of its first record
--      u16 number of records
--      u16 number of records with details
--      u8 which records have a result line: 0 none, 1 all, 2 all but accepted ones
--      u8 number of different outcomes; 0 if the records are not terminal
--      for each outcome u8 state and u16 number of its records
-- The slice counts an outcome in the field whose name is the state of the outcome. In a campaign with variants, the
-- head also counts the outcomes of each variant. For variant v, the field is the state plus 16 v.
-- A record is the 12 bytes of the ledger: state u8, attempt u8, status u16, reason u8, history u8 (see `outcome.lua`),
-- variant u4 (0 for none), time u44 (ms). In a record that waits for a retry, the worker gives the delay in ms as the
-- time.
-- Details describe what the outcome of a record changes besides the ledger and the result line. They are in the order
-- of their records. Each is: u32 index, u32 fingerprint of the user (0 for no user, see `departures.lua`), and a
-- notice. A notice is:
--      u8 action. In ARGV 10: 0 prune, 1 quarantine, 2 prune a user's device in this script, 3 nothing. In the outbox:
--        0 to prune, 1 quarantined, 2 already pruned
--      u8 code of the reason
--      u48 timestamp (ms)
--      u8 length and text of a reason without a code
--      u16 length and token
--      u16 length and user ('' for a token that a job lists without a user)
-- An outbox entry is: u48 time (ms), the names of ARGV 8, then notices. A quarantine note has the same form, with one
-- notice. This notice has no token, because the token is the name of the note's field.
-- Returns an array:
--      1 if the caller owns the claim, else 0
--      phase of the slice, or 'foreign' if the slice has another seal
--      numbers of granted targets, targets in doubt, and waiting targets (three values)
--      ms to the next retry or send time (-1: none)
--      granted retries, each u32 index, u8 attempt, u8 history
--      sequence number and number of replays before this call
--      u32 indexes of targets that this call reports as accepted, although the ledger has another terminal outcome for
--        them (see `acceptlate`)
--      number of targets whose send time has not come
--      decisions about the targets granted for the first time, then decisions about the retries (u32 each; each text is
--        '' in a campaign without rules)
--      number of departures that the worker has handled after this call (-1: unchanged)
--      fingerprints of the users who departed since ARGV 13 (false: too many to list)
--      checked targets that must not be sent, each u32 index, u8 outcome
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Redis searches the whole hash for a field that is missing. Therefore `bisected` and `readyAt` are read only if
-- `deaths` and `ready` exist.
local slice = redis.call('HMGET', KEYS[1], 'claim', 'phase', 'count', 'granted', 'doubt', 'waiting', 'seal', 'seq',
  'deaths', 'replays', '16', 'ready', 'departed', 'blanked')
-- Adding zero to a text converts it to a number five times as fast as `tonumber`.
local phase, seq, replays = slice[2], (slice[8] or 0) + 0, (slice[10] or 0) + 0
local count, granted = (slice[3] or 0) + 0, (slice[4] or 0) + 0
local doubt, waiting = (slice[5] or 0) + 0, (slice[6] or 0) + 0
if not is_sound(phase, count, granted, doubt, waiting) then return damaged() end
local owner, sealed, replay = slice[1] == ARGV[1], phase == 'sealed', ARGV[6] == ''
local is_stale = not owner and not replay
if sealed and (slice[7] or '') ~= ARGV[5] then
  return {0, 'foreign', granted, doubt, waiting, -1, '', seq, replays, '', 0, '', '', -1, '', ''}
end
local moved, settled, restored, late = {}, false, replay, {}
local counts = ARGV[12] ~= '' and counting()
local rules = counts and counts.read_rules(ARGV[12])
-- `unsent`: targets that were counted in frequency caps and ended unsent. `pruned`: fingerprints of users who lost a
-- device.
local unsent, pruned = {}, {}

-- Targets of erased users. The script ignores the result lines and notices that the worker sends for them.
local blanked = slice[14] and {}
for at = 1, blanked and #slice[14] or 0, 4 do blanked[struct.unpack('>I4', slice[14], at)] = true end
local has_blanked = blanked and function(first, last)
  for index in pairs(blanked) do
    if index >= first and index <= last then return true end
  end
  return false
end

local function count_by(field, n) moved[field] = (moved[field] or 0) + n end

-- Writes the result lines of records that have become terminal. Lines that are adjacent in ARGV are written in one
-- call. A call has at most 500 records, because `unpack` takes 8,000 values.
local lines_from, lines_to = 1, 0
local function write_lines()
  local number = (lines_to - lines_from + 1) / 2
  if number > 0 then
    -- Redis converts a large hash from a list to a table. Until then it searches the list for each new line, which is
    -- slow. The long value that is added here forces the conversion immediately.
    local grows = number >= 64 and count > 128 and redis.call('EXISTS', KEYS[4]) == 0
    if grows then redis.call('HSET', KEYS[4], '', ('-'):rep(128)) end
    redis.call('HSET', KEYS[4], unpack(ARGV, lines_from, lines_to))
    if grows then redis.call('HDEL', KEYS[4], '') end
  end
  lines_from, lines_to = 1, 0
end
local function keep_lines(line, number)
  if line ~= lines_to + 1 then
    write_lines()
    lines_from = line
  end
  lines_to = line + 2 * number - 1
end

-- Notices for the outbox, and the bytes in front of them: the time and the names of ARGV 8.
local outgoing, head = {}, nil

-- Parsed details. Each is an array: the position of the detail in `details`, its parts from the index to the user, and
-- the position of the next detail. The devices that the details may change are read in one command. `settle` applies a
-- detail when its record becomes terminal.
local details, detail_of, settle = ARGV[10], {}, nil
if sealed and details ~= '' then
  head = struct.pack('>I6', now) .. ARGV[8]
  local at, n, names = 1, 0, {}
  while at <= #details do
    local detail = {at, struct.unpack('>I4I4BBI6Bc0I2c0I2c0', details, at)}
    n = n + 1
    detail_of[n] = detail
    if detail[4] ~= 3 and detail[9] ~= '' then names[#names + 1] = detail[9] end
    at = detail[10]
  end
  read_devices(KEYS[6], names)

  settle = function(n)
    local at, index, print, action, _, instant, word, token, user, behind = unpack(detail_of[n])
    -- Places of the notice's first and last byte in `details`.
    local from, to = at + 8, behind - 1
    if word ~= '' then redis.call('HSET', KEYS[5], index, word) end
    if action == 3 or blanked and blanked[index] then return end
    if user == '' then
      -- The job lists this token without a user. The owner index in the token's partition names the user who owns the
      -- token. The worker that empties the outbox edits the device. A device that registered after the answer is a new
      -- one, and stays.
      local registered, owner = (redis.call('HGET', KEYS[9], token) or ''):match('^(%d+):(.*)$')
      if not owner or tonumber(registered) > instant then return end
      outgoing[#outgoing + 1] = details:sub(from, to - 2) .. struct.pack('>I2', #owner) .. owner
    elseif action == 1 then
      local about = details:sub(from, from + 8 + #word)
      local note = head .. about .. '\0\0' .. details:sub(to - #user - 1, to)
      if not edit_device(KEYS[10], user, token, 'quarantine', instant, note) then return end
    else
      if not edit_device(KEYS[10], user, token, 'prune', instant) then return end
      pruned[#pruned + 1] = struct.pack('>I4', print)
      outgoing[#outgoing + 1] = details:sub(from, to)
    end
    count_by(action == 1 and 'quarantined' or 'pruned', 1)
  end
end

local stretches, stretch_count, behind_suspects = {}, 0, 14 + 3 * ARGV[14]
do
  local heads, at, lines, detail = ARGV[9], 1, 0, 1
  while at <= #heads do
    local first, number, its_details, has_lines, outcomes, tally = struct.unpack('>I4I2I2BB', heads, at)
    at = tally + outcomes * 3
    stretch_count = stretch_count + 1
    -- The table is created with all members, because adding members later costs more than all other work on it.
    local stretch = {first = first, last = math.min(first + number, count) - 1, tally = {}, has_lines = has_lines,
      records = ARGV[behind_suspects + stretch_count], line = lines, lines = has_lines > 0 and number or 0,
      detail = detail, behind_details = detail + its_details,
      -- An index that is not below the slice's number of targets gets no record. It belongs to another slice, or to a
      -- list that Redis has lost.
      is_whole = outcomes > 0 and first + number <= count, is_refused = false, gives_back = false}
    for place = tally, at - 1, 3 do
      local state, its_number = struct.unpack('>BI2', heads, place)
      stretch.tally[state] = its_number
      stretch.is_refused = stretch.is_refused or is_stale and says_undelivered[state]
      stretch.gives_back = stretch.gives_back or rules and gives_back(state)
      if state == 16 and has_lines == 2 then stretch.lines = stretch.lines - its_number end
    end
    lines = lines + 2 * stretch.lines
    detail = stretch.behind_details
    if first < count then stretches[#stretches + 1] = stretch end
  end
  for _, stretch in ipairs(stretches) do stretch.line = behind_suspects + 1 + stretch_count + stretch.line end
end

local counted_to = 0

if replay and sealed then
  local known = math.min(tonumber(ARGV[7]), count)
  if known > granted then
    -- Redis has lost these grants, and with them the decisions and the users' counters. The loop restores all of them.
    for first = granted, known - 1, 512 do
      local indexes, decided = {}, {}
      for index = first, math.min(first + 512, known) - 1 do
        local decision = #ARGV[3] >= index * 4 + 4 and struct.unpack('>I4', ARGV[3], index * 4 + 1) or 0
        if decision >= withheld_from then
          redis.call('HSET', KEYS[1], 'withheld', 1)
          withhold(KEYS[2], index, ('\0'):rep(12), decision)
        end
        -- Targets of users who departed were not counted.
        if rules and (decision < withheld_from or decision == withheld_from + 26) then
          indexes[#indexes + 1] = index
          decided[#decided + 1] = decision
        end
      end
      if #indexes > 0 then
        local names = counts.users_of(KEYS[14], indexes)
        counts.take(KEYS[12], KEYS[7], rules, ARGV[11], math.floor(now / 1000), names, true, decided)
      end
    end
    doubt = doubt + known - granted
    granted = known
  end
end
-- Targets from this index on have not been counted in frequency caps yet.
counted_to = granted

-- Redis' Lua hashes every byte of each new string. If a stretch has only new records, its bytes are therefore written
-- without a copy. `mixed` has the other stretches.
local mixed = {}
for i = 1, sealed and #stretches or 0 do
  local stretch = stretches[i]
  local first, last = stretch.first, stretch.last
  local sent = last
  while stretch.is_refused and sent >= first and says_undelivered[stretch.records:byte((sent - first) * 12 + 1)] do
    sent = sent - 1
  end
  if sent >= first and sent >= granted then
    -- The worker has sent this target, so Redis had granted it and then lost the grant.
    doubt = doubt + sent + 1 - granted
    granted = sent + 1
    restored = restored or not owner
  end
  if stretch.is_whole and not stretch.is_refused and not (blanked and has_blanked(first, last))
    and redis.call('BITPOS', KEYS[2], '1', decimal('%d', first * 12), decimal('%d', last * 12 + 11)) < 0 then
    redis.call('SETRANGE', KEYS[2], decimal('%d', first * 12), stretch.records)
    -- All records are outcomes of first attempts. This is the case for nearly every push.
    doubt = doubt - (last + 1 - first)
    settled = true
    for state, number in pairs(stretch.tally) do count_by(state, number) end
    for index = first, stretch.gives_back and math.min(last, counted_to - 1) or -1 do
      if gives_back(stretch.records:byte((index - first) * 12 + 1)) then unsent[#unsent + 1] = index end
    end
    if stretch.lines > 0 then keep_lines(stretch.line, stretch.lines) end
    for i = stretch.detail, stretch.behind_details - 1 do settle(i) end
  else
    mixed[#mixed + 1] = stretch
  end
end

if #mixed > 0 then
  -- Merges two records of a target: `old` is the stored one, and the new one begins at `base` in `records`. Returns the
  -- merged record, or nil if the old one stays.
  local function merge(records, base, index, old)
    local state, attempt = records:byte(base, base + 1)
    local old_state, old_attempt = old:byte(1, 2)
    -- A worker that has lost its claim may report that a push was answered. It may neither request another attempt nor
    -- report that the target was not delivered, because the new owner may be sending the target. A replay may not
    -- request another attempt either. In these cases the target stays in doubt, which is safe.
    if is_stale and (state < 16 or says_undelivered[state]) or state == 1 and replay then return nil end
    if old_state >= 16 then
      if state == 16 and old_state ~= 16 then late[#late + 1] = struct.pack('>I4', index) end
      return nil
    elseif state < 16 and attempt * 2 + state <= old_attempt * 2 + old_state then
      return nil
    end
    local history, old_history = records:byte(base + 5), old:byte(6)
    if is_ambiguous(old_history) then
      if says_undelivered[state] then return nil end
      if not is_ambiguous(history) then history = history + 128 end
    end
    if old_state == 1 then
      waiting = waiting - 1
      redis.call('ZREM', KEYS[3], index)
    else
      doubt = doubt - 1
    end
    if state >= 16 then
      if rules and gives_back(state) and index < counted_to and not (is_withheld(old_history) and old_attempt == 0) then
        unsent[#unsent + 1] = index
      end
      count_by(state, 1)
      local variant = records:byte(base + 6)
      if variant >= 16 then count_by(state + variant - variant % 16, 1) end
      settled = true
      return records:sub(base, base + 11)
    end
    if state == 0 then
      doubt = doubt + 1
      return records:sub(base, base + 4) .. string.char(history) .. records:sub(base + 6, base + 11)
    end
    local delay = struct.unpack('>I6', records, base + 6)
    waiting = waiting + 1
    redis.call('ZADD', KEYS[3], now + delay, index)
    return records:sub(base, base + 4) .. string.char(history) .. struct.pack('>I6', now + delay)
  end

  -- Merges a stretch record by record. Appends to `pieces` the new records and the unchanged parts of `block`. The
  -- block begins with the record of the target `origin`, and its bytes before `from` are already in `pieces`. Returns
  -- the new `from`.
  local function merge_each(stretch, block, origin, pieces, from)
    local records, base, line, detail = stretch.records, 1, stretch.line, stretch.detail
    for index = stretch.first, stretch.last do
      local offset = (index - origin) * 12
      local has_line = stretch.has_lines == 1 or stretch.has_lines == 2 and records:byte(base) ~= 16
      local its_detail = detail < stretch.behind_details and detail_of[detail][2] == index and detail
      if its_detail then detail = detail + 1 end
      local record = merge(records, base, index, block:sub(offset + 1, offset + 12))
      if record then
        if from <= offset then pieces[#pieces + 1] = block:sub(from, offset) end
        pieces[#pieces + 1] = record
        from = offset + 13
        if record:byte(1) >= 16 then
          if has_line and not (blanked and blanked[index]) then keep_lines(line, 1) end
          if its_detail then settle(its_detail) end
        end
      end
      base = base + 12
      if has_line then line = line + 2 end
    end
    return from
  end

  local i = 1
  while i <= #mixed do
    -- Stretches that are close together are read and written in one call. Copying a gap of up to 16 records is cheaper
    -- than a second call.
    local first, last, j = mixed[i].first, mixed[i].last, i
    while j < #mixed and mixed[j + 1].first > last and mixed[j + 1].first - last <= 17 do
      j = j + 1
      last = mixed[j].last
    end
    local size = (last - first + 1) * 12
    local block = redis.call('GETRANGE', KEYS[2], first * 12, last * 12 + 11)
    if #block < size then block = block .. ('\0'):rep(size - #block) end
    local pieces, from = {}, 1
    for k = i, j do from = merge_each(mixed[k], block, first, pieces, from) end
    if from > 1 then
      if from <= size then pieces[#pieces + 1] = block:sub(from) end
      redis.call('SETRANGE', KEYS[2], first * 12, table.concat(pieces))
    end
    i = j + 1
  end
end
write_lines()
if head then write_edits(KEYS[6], KEYS[7], KEYS[11], KEYS[12], KEYS[10]) end
-- `departures`: number of departures now (nil until it is read). `departed`: the number that the slice has stored.
-- `known`: the number that the worker has handled.
local departures, departed = nil, (slice[13] or -1) + 0
local known = ARGV[13] == '' and departed or ARGV[13] + 0
local news, departed_users = -1, ''
if #pruned > 0 then
  local before = count_departures(KEYS[13])
  note_departures(KEYS[13], before, pruned)
  departures = before + #pruned
  if before == departed then departed = departures end
  if before == known then known, news = departures, departures end
end
for first = 1, #unsent, 512 do
  local indexes = {unpack(unsent, first, math.min(first + 511, #unsent))}
  local names = counts.users_of(KEYS[14], indexes)
  counts.give_back(KEYS[12], KEYS[7], rules, ARGV[11], math.floor(now / 1000), names)
end
if #outgoing > 0 then redis.call('RPUSH', KEYS[8], head .. table.concat(outgoing)) end

-- The send times of the targets with indexes below `ready` have come. `ready_at` is the next send time.
local ready, ready_at = count, nil
if sealed and slice[12] then
  ready, ready_at = slice[12] + 0, (redis.call('HGET', KEYS[1], 'readyAt') or now) + 0
  if now >= ready_at then
    local times = redis.call('HGET', KEYS[1], 'times')
    if not times then return damaged() end
    -- Finds the first step whose time has not come.
    local low, steps = 0, struct.unpack('>I4', times)
    local high = steps
    while low < high do
      local middle = math.floor((low + high) / 2)
      local _, due = struct.unpack('>I4I6', times, 5 + middle * 13)
      if due <= now then low = middle + 1 else high = middle end
    end
    if low < steps then
      ready, ready_at = struct.unpack('>I4I6', times, 5 + low * 13)
      redis.call('HSET', KEYS[1], 'ready', ready, 'readyAt', ready_at)
    else
      ready, ready_at = count, nil
      redis.call('HDEL', KEYS[1], 'ready', 'readyAt')
    end
  end
end

local retries, fresh_decisions, retry_decisions, withheld = {}, {}, {}, {}
local expected = owner and sealed and ARGV[6] == seq .. ' ' .. replays
if expected then
  local credit = tonumber(ARGV[3])
  -- With rules, a call grants fewer targets, because updating a user's frequency cap counters costs more than the grant
  -- itself.
  if rules then credit = math.min(credit, 512) end
  local again, records = {}, {}
  if credit > 0 and waiting > 0 then
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, math.min(credit, 500))) do
      local index = tonumber(member)
      if not (index >= 0 and index < granted and index % 1 == 0) then return damaged() end
      local record = redis.call('GETRANGE', KEYS[2], index * 12, index * 12 + 11)
      -- The number of attempts has one byte and stays at 255, which it may reach after many days. Even then, the target
      -- is granted and answered.
      local attempt = math.min(record:byte(2) + 1, 255)
      record = '\0' .. string.char(attempt) .. record:sub(3)
      redis.call('SETRANGE', KEYS[2], index * 12, record)
      redis.call('ZREM', KEYS[3], member)
      retries[#retries + 1] = struct.pack('>I4BB', index, attempt, record:byte(6))
      waiting, doubt, credit = waiting - 1, doubt + 1, credit - 1
      if rules then again[#again + 1], records[#records + 1] = index, record end
    end
  end
  local first, fresh = granted, math.max(0, math.min(credit, ready - granted))
  granted, doubt = granted + fresh, doubt + fresh
  if fresh > 0 or #retries > 0 then
    news = departures or count_departures(KEYS[13])
    departed_users = departed_since(KEYS[13], news, known)
  end

  local checked, users, tokens = {}, {}, {}
  for at = 15, behind_suspects, 3 do
    local index = ARGV[at] + 0
    if index >= first and index < granted then
      checked[#checked + 1], tokens[#tokens + 1], users[#users + 1] = index, ARGV[at + 1], ARGV[at + 2]
    end
  end
  if #checked > 0 then
    local outcomes = withheld_of(KEYS[6], 15, #KEYS, ARGV[11], users, tokens)
    for i, index in ipairs(checked) do
      if outcomes[i] then withheld[#withheld + 1] = struct.pack('>I4B', index, outcomes[i]) end
    end
  end

  if rules then
    -- Adds targets to their users' counters. Marks a target as withheld if its user has reached a cap.
    local function decide(indexes, is_fresh, decisions)
      if #indexes == 0 then return end
      local names = counts.users_of(KEYS[14], indexes)
      local taken = counts.take(KEYS[12], KEYS[7], rules, ARGV[11], math.floor(now / 1000), names, is_fresh)
      for i = 1, #indexes do
        if taken[i] >= withheld_from then
          redis.call('HSET', KEYS[1], 'withheld', 1)
          withhold(KEYS[2], indexes[i], is_fresh and ('\0'):rep(12) or records[i], taken[i])
        end
        decisions[i] = struct.pack('>I4', taken[i])
      end
    end
    local indexes = {}
    for index = first, granted - 1 do indexes[#indexes + 1] = index end
    decide(indexes, true, fresh_decisions)
    decide(again, false, retry_decisions)
  end
end
local lease = now + ARGV[2]
if sealed then
  local values, place = {}, 0
  local function set(field, n) values[place + 1], values[place + 2], place = field, decimal('%d', n), place + 2 end
  set('granted', granted)
  set('doubt', doubt)
  set('waiting', waiting)
  if owner and not replay then set('seq', seq + 1) end
  if owner then set('lease', lease) end
  if departed ~= (slice[13] or -1) + 0 then set('departed', departed) end
  -- Nearly every commit has accepted pushes. Their counter was therefore read with the other fields.
  if moved[16] then
    set('16', (slice[11] or 0) + moved[16])
    moved[16] = nil
  end
  local fields = {}
  for field in pairs(moved) do fields[#fields + 1] = field end
  if #fields > 0 then
    local before = redis.call('HMGET', KEYS[1], unpack(fields))
    for i = 1, #fields do set(fields[i], (before[i] or 0) + moved[fields[i]]) end
  end
  redis.call('HSET', KEYS[1], unpack(values))
  -- Another worker has reported grants that Redis lost. The owner must not treat these targets as its own. The script
  -- therefore raises the number of replays. The owner's next request does not match this number, so the script grants
  -- nothing.
  if restored then redis.call('HINCRBY', KEYS[1], 'replays', 1) end
end
-- Progress shows that the slice does not kill its workers. Progress during a search for a poison target does not show
-- this (see `bisect`).
if settled and slice[9] and not redis.call('HGET', KEYS[1], 'bisected') then
  redis.call('HDEL', KEYS[1], 'deaths')
end
if owner and not sealed then redis.call('HSET', KEYS[1], 'lease', lease) end
-- Targets that are sent again are counted once, even if the first reply was lost. They are not counted after the slice
-- has ended.
if sealed and ARGV[4] ~= '0' and (expected or not owner) then redis.call('HINCRBY', KEYS[1], 'resent', ARGV[4]) end
local due = -1
if waiting > 0 then
  local nearest = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  if nearest[2] then due = math.max(0, tonumber(nearest[2]) - now) end
end
if ready_at and (due < 0 or ready_at - now < due) then due = math.max(0, ready_at - now) end
return {owner and 1 or 0, phase or '', granted, doubt, waiting, due, table.concat(retries), seq, replays,
  table.concat(late), math.max(0, count - math.max(ready, granted)), table.concat(fresh_decisions),
  table.concat(retry_decisions), news, departed_users, table.concat(withheld)}
