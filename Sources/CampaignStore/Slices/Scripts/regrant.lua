#!lua flags=allow-oom
-- regrant: decides whether a worker may send granted targets: those in doubt, and those of users who may have departed.
-- Invariant: a target is sent only if its user still has the device and is on no suppression list that applies (see
-- `departures.lua`). No cap applies here, because the grant has counted the target. If Redis has lost that count, the
-- script counts the target again.
-- The script does not change the ledger. If it refuses a target in doubt, that target ends as `unknown`.
-- The script also runs when Redis has no free memory, because the memory that it adds is limited by the number of
-- sealed targets.
-- KEYS 1 slice, 2 devices, 3 users, 4 pressure, 5 departures, 6... suppression lists that apply
-- ARGV 1 seal that the worker knows: the id of the claim that sealed the slice's targets
--      2 app
--      3 rules for frequency caps and badges ('' for none; `read_rules` in `grant.lua` has the format)
--      4... three values for each of at most 256 targets: index, token, user ('' for a token that the job lists)
-- Returns a decision about each target (u32, see `grant.lua`), or '' if the slice has another seal
local slice = redis.call('HMGET', KEYS[1], 'phase', 'seal', 'departed')
if slice[1] ~= 'sealed' or slice[2] ~= ARGV[1] then return '' end
local tokens, users, withheld = {}, {}, {}
for at = 4, #ARGV, 3 do tokens[#tokens + 1], users[#users + 1] = ARGV[at + 1], ARGV[at + 2] end
if count_departures(KEYS[5]) ~= (slice[3] or -1) + 0 then
  withheld = withheld_of(KEYS[2], 6, #KEYS, ARGV[2], users, tokens)
end

local decisions, counted, place = {}, {}, {}
for i, user in ipairs(users) do
  decisions[i] = withheld[i] and withheld_from + withheld[i] or 0
  if decisions[i] == 0 then
    counted[#counted + 1] = user
    place[#place + 1] = i
  end
end
if ARGV[3] ~= '' and #counted > 0 then
  local now = tonumber(redis.call('TIME')[1])
  local counts = counting()
  local taken = counts.take(KEYS[4], KEYS[3], counts.read_rules(ARGV[3]), ARGV[2], now, counted, false)
  for i = 1, #taken do decisions[place[i]] = taken[i] end
end
for i = 1, #decisions do decisions[i] = struct.pack('>I4', decisions[i]) end
return table.concat(decisions)
