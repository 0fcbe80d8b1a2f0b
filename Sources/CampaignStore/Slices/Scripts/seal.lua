#!lua
-- seal: seals the lists of targets that the owner of a claim has built. Sealed lists are final.
-- One call seals a slice and, in the same partition, the slices of the campaign's other legs.
-- Invariant: only the owner of the claim can seal its lists. One expansion builds the lists of all legs, and one step
-- seals them, so the decisions about a user are the same in every leg. Sealed targets are immutable, and the slice's
-- count is their number. The seal is the id of the claim that sealed the lists. If Redis loses the lists, the next
-- lists may have another order, and they have another seal.
-- Another worker may have a claim of another leg's slice. That claim stays valid, and its owner finds the slice sealed.
-- If a leg was cancelled and its slice closed before, the slice stays closed.
-- The script stores the version of targets and ledger; a worker that can't read that version does not touch the slice.
-- If targets have their own send times, none is ready until the first of these times (see `commit`).
-- The slice also stores how many departures there were before the expansion. If `commit` finds another number, targets
-- may have become invalid since.
-- In the same step the control group is sealed and counted. Its users are not targets.
-- KEYS 1 slice, 2 unsealed targets of this claim, 3 targets, 4 unsealed control group of this claim, 5 control group;
--      then the same of each other leg's slice
-- ARGV 1 claim id
--      2 lease ms
--      3 version of targets and ledger
--      4 number of departures before the expansion (-1: unknown)
--      then of each slice: number of targets, number of their pages, number of users in the control group, number of
--        their pages, send times of the targets (`SendTimes`; '' for immediately), number of fields and values, fields
--        and values of counts: the targets of each variant, the users who are reached, and the users who are left out,
--        by reason (`AudienceCount`)
-- Returns 1; -1 if the claim is stale or a list does not have the length that its builder expects; -2 if the expansion
--      of another leg has sealed the slice

-- Removes the lists, which can't be sealed any more. They contain users and tokens, and no erasure searches them.
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
