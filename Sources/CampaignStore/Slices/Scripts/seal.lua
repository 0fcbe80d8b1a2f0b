#!lua
-- seal: seals the lists of targets that the owner of a claim has built. Sealed lists are final.
-- One call seals a slice and, in the same partition, the slices of the campaign's other legs.
-- Invariant: only the owner of the claim can seal its lists. One expansion builds the lists of all legs, and one step
-- seals them, so the decisions about a user are the same in every leg. Sealed targets are immutable, and the slice
-- stores their number.
-- The seal of a slice is the id of the claim that sealed its lists. If Redis loses the sealed lists, a worker builds
-- new ones, which may have another order. The new lists have another seal.
-- Another worker may have a claim of another leg's slice. That claim stays valid, and its owner finds the slice sealed.
-- If a leg was cancelled and its slice closed before, the slice stays closed.
-- The script stores the version of targets and ledger; a worker that can't read that version does not touch the slice.
-- If targets have their own send times, `commit` grants none of them before the first of these times.
-- The slice also stores how many departures there were before the expansion. If `commit` finds another number, some
-- targets may have become invalid since.
-- The script also seals and counts the control group in the same step. Its users are not targets.
-- KEYS 1 slice, 2 unsealed targets of this claim, 3 targets, 4 unsealed control group of this claim, 5 control group;
--      then the same five keys for the slice of each other leg
-- ARGV 1 claim id
--      2 ms that the lease lasts
--      3 version of targets and ledger
--      4 number of departures before the expansion (-1: unknown)
--      then for each slice:
--        number of targets
--        number of pages of targets
--        number of users in the control group
--        number of pages of the control group
--        send times of the targets (`SendTimes`; '' for immediately)
--        number of the values that follow
--        fields and values for the slice: the targets of each variant, the users who are reached, and the users who are
--          left out, by reason (`AudienceCount`)
-- Returns one of:
--      1 if the slice is sealed, now or by an earlier call
--      -1 if the slice has another claim, or if a list does not have the expected length
--      -2 if the expansion of another leg has sealed the slice

-- Removes the lists, which can't be sealed any more. They contain users and tokens, and the erasure of a user does not
-- search them.
local function remove_lists()
  for base = 1, #KEYS, 5 do redis.call('UNLINK', KEYS[base + 1], KEYS[base + 3]) end
end
local slice = redis.call('HMGET', KEYS[1], 'claim', 'phase', 'count', 'seal')
if slice[1] ~= ARGV[1] then
  remove_lists()
  return -1
end
if slice[2] == 'sealed' then
  if slice[4] ~= ARGV[1] then
    remove_lists()
    return -2
  end
  return tonumber(slice[3]) == tonumber(ARGV[5]) and 1 or -1
end
local legs, at = {}, 5
for base = 1, #KEYS, 5 do
  local leg = {base = base, count = tonumber(ARGV[at]), pages = tonumber(ARGV[at + 1]), control = ARGV[at + 2],
    times = ARGV[at + 4], first = at + 6, last = at + 5 + tonumber(ARGV[at + 5])}
  if redis.call('LLEN', KEYS[base + 1]) ~= leg.pages + 1 then return -1 end
  if leg.control ~= '0' and redis.call('LLEN', KEYS[base + 3]) ~= tonumber(ARGV[at + 3]) then return -1 end
  legs[#legs + 1] = leg
  at = leg.last + 1
end
local time = redis.call('TIME')
for i = 1, #legs do
  local leg, base = legs[i], legs[i].base
  local phase = i > 1 and redis.call('HGET', KEYS[base], 'phase')
  if phase == 'done' or phase == 'cancelled' then
    redis.call('UNLINK', KEYS[base + 1], KEYS[base + 3])
  else
    redis.call('LPOP', KEYS[base + 1])
    if leg.count > 0 then
      redis.call('RENAME', KEYS[base + 1], KEYS[base + 2])
      redis.call('PERSIST', KEYS[base + 2])
    end
    if leg.control ~= '0' then
      redis.call('RENAME', KEYS[base + 3], KEYS[base + 4])
      redis.call('PERSIST', KEYS[base + 4])
      redis.call('HSET', KEYS[base], 'control', leg.control)
    end
    redis.call('HSET', KEYS[base], 'phase', 'sealed', 'seal', ARGV[1], 'count', leg.count, 'format', ARGV[3],
      'departed', ARGV[4])
    if leg.times ~= '' then
      local _, due = struct.unpack('>I4I6', leg.times, 5)
      redis.call('HSET', KEYS[base], 'times', leg.times, 'ready', 0, 'readyAt', due)
    end
    if leg.last >= leg.first then redis.call('HSET', KEYS[base], unpack(ARGV, leg.first, leg.last)) end
  end
end
redis.call('HSET', KEYS[1], 'lease', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]))
return 1
