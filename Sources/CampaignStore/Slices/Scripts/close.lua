#!lua flags=allow-oom
-- close: ends a slice and returns its final counters.
-- Invariant: a slice ends once, with an outcome for every target. A cancel keeps recorded outcomes. `outcome_of`
-- derives the outcomes of all other targets: `unknown` if the push may have been delivered, else `cancelled`. The
-- script only counts derived outcomes. Every later reader of the ledger derives them again, with the same result.
-- If a slice is cancelled before its targets are sealed, it ends without targets. In a campaign with variants, each
-- outcome is also counted for its variant. For variant v, the name of the counter's field is the code of the outcome
-- plus 16 v. The field 16 v + 31 has the number of targets of variant v.
-- A cancel leaves some targets unsent. In the same step, the script removes these targets from their users' frequency
-- cap counters and badges.
-- KEYS 1 slice, 2 retry; to cancel, also 3 targets, 4 ledger, 5 pressure, 6 users, 7... unsealed lists of this claim
-- ARGV 1 claim id
--      2 'finish' or 'cancel'; to cancel, also:
--      3 app
--      4 rules for frequency caps and badges ('' for none; `read_rules` in `grant.lua` has the format)
--      5 number of languages, only with variants. The values of a target begin with a u16, which is (variant * number
--        of languages + language), both from 0
-- Returns the slice's fields and values if the slice has ended, now or before; 0 if the slice has another claim; 1 if
-- the slice can't finish, because some targets have no outcome
local slice = redis.call('HMGET', KEYS[1], 'phase', 'claim', 'count', 'granted', 'doubt', 'waiting', 'withheld')
local phase = slice[1]
if phase == 'done' or phase == 'cancelled' then return redis.call('HGETALL', KEYS[1]) end
if slice[2] ~= ARGV[1] then return 0 end
local count, granted = tonumber(slice[3] or 0), tonumber(slice[4] or 0)
local doubt, waiting = tonumber(slice[5] or 0), tonumber(slice[6] or 0)
if not is_sound(phase, count, granted, doubt, waiting) then return damaged() end

-- Returns the variant of the target at `index` in the slice. The first variant is 1. Returns nil if the page has no
-- readable target there.
local page, page_number, at, place = nil, -1, 1, 0
local function variant_of(index)
  if math.floor(index / 128) ~= page_number then
    page_number = math.floor(index / 128)
    page, at, place = redis.call('LINDEX', KEYS[3], page_number) or '', 1, page_number * 128
  end
  local variant
  while place <= index and at + 3 <= #page do
    local token, user = struct.unpack('>I2I2', page, at)
    at, variant = at + 4 + token % 32768 + user, 1
    if token >= 32768 then
      if at + 3 <= #page then variant = math.floor(struct.unpack('>I2', page, at + 2) / ARGV[5]) + 1 end
      at = at + 2 + struct.unpack('>I2', page, at)
    end
    place = place + 1
  end
  return variant
end

-- Targets that were counted in their users' frequency caps and then ended unsent.
local unsent = {}

-- Returns the number of targets that a cancel ends as `unknown`, and a table with this number for each variant.
local function count_unknown()
  -- If no target is waiting, the unknown targets are usually those in doubt, so their number is known without the
  -- ledger. The ledger is necessary if there are targets in doubt and the campaign has variants or the slice has
  -- withheld targets.
  if waiting == 0 and (doubt == 0 or not ARGV[5] and not slice[7]) then return doubt, {} end
  local unknown, of_variant = 0, {}
  for first = 0, granted - 1, 4096 do
    local last = math.min(first + 4096, granted) - 1
    local block = redis.call('GETRANGE', KEYS[4], first * 12, last * 12 + 11)
    for index = first, last do
      local base = (index - first) * 12
      local state, history = block:byte(base + 1) or 0, block:byte(base + 6) or 0
      local outcome = outcome_of(state, history, true, 'cancelled')
      if state < 16 and outcome == 25 and not (is_withheld(history) and block:byte(base + 2) == 0) then
        unsent[#unsent + 1] = index
      end
      if state < 16 and outcome == 24 then
        unknown = unknown + 1
        local variant = ARGV[5] and variant_of(index)
        if variant then of_variant[variant] = (of_variant[variant] or 0) + 1 end
      end
    end
  end
  return unknown, of_variant
end

local function cancel_variants(unknown)
  for v = 1, 8 do
    local left = tonumber(redis.call('HGET', KEYS[1], 16 * v + 31) or 0)
    if left > 0 then
      for state = 16, 30 do left = left - (redis.call('HGET', KEYS[1], 16 * v + state) or 0) end
      local lost = math.min(unknown[v] or 0, left)
      if lost > 0 then redis.call('HINCRBY', KEYS[1], 16 * v + 24, lost) end
      if left > lost then redis.call('HINCRBY', KEYS[1], 16 * v + 25, left - lost) end
    end
  end
end

if ARGV[2] == 'cancel' then
  if phase == 'expanding' then count = 0 end
  local unknown, unknown_of_variant = count_unknown()
  if ARGV[5] and phase == 'sealed' then cancel_variants(unknown_of_variant) end
  local time = redis.call('TIME')
  local counts = ARGV[4] ~= '' and counting()
  for first = 1, counts and #unsent or 0, 512 do
    local names = counts.users_of(KEYS[3], {unpack(unsent, first, math.min(first + 511, #unsent))})
    counts.give_back(KEYS[5], KEYS[6], counts.read_rules(ARGV[4]), ARGV[3], tonumber(time[1]), names)
  end
  if unknown > 0 then redis.call('HINCRBY', KEYS[1], '24', unknown) end
  local rest = count - granted + doubt + waiting - unknown
  if rest > 0 then redis.call('HINCRBY', KEYS[1], '25', rest) end
  redis.call('UNLINK', KEYS[2], unpack(KEYS, 7))
  redis.call('HSET', KEYS[1], 'phase', 'cancelled', 'count', count, 'doubt', 0, 'waiting', 0, 'cancelledAt',
    time[1] * 1000 + math.floor(time[2] / 1000))
elseif phase == 'sealed' and granted == count and doubt == 0 and waiting == 0 then
  redis.call('HSET', KEYS[1], 'phase', 'done')
else
  return 1
end
redis.call('HDEL', KEYS[1], 'claim', 'lease', 'owner', 'deaths', 'bisected', 'times', 'ready', 'readyAt',
  'departed', 'withheld', 'blanked')
return redis.call('HGETALL', KEYS[1])
