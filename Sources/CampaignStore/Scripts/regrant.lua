#!lua flags=allow-oom
-- regrant: decides about granted targets in doubt before they are sent again.
-- Keeps: a target in doubt is sent again only if its user still has the device and is on no list that applies. It was
-- counted for its user when it was granted, so no cap keeps it from that user; if Redis has lost that, it is counted
-- again. Nothing is written into the ledger: who is in doubt ends as `unknown`.
-- It runs when memory is full: what it adds is bounded by the sealed targets.
-- KEYS 1 slice, 2 targets, 3 devices, 4 users, 5 pressure, 6 departures, 7... suppression lists that apply
-- ARGV 1 seal, 2 app, 3 rules of what is counted for users ('' for nothing), 4 indexes of at most 512 targets, each u32
-- Returns a decision about each (see `grant.lua`), '' under another seal
local slice = redis.call('HMGET', KEYS[1], 'phase', 'seal', 'departed')
if slice[1] ~= 'sealed' or slice[2] ~= ARGV[1] then return '' end
local time = redis.call('TIME')
local indexes, suspects = {}, {}
local departed, users = departed_since(KEYS[6], slice[3])
for at = 1, #ARGV[4], 4 do
  local index = struct.unpack('>I4', ARGV[4], at)
  indexes[#indexes + 1] = index
  if departed then suspect(KEYS[2], index, index, departed, users, suspects) end
end
local withheld = withheld_of(KEYS[2], KEYS[3], 7, #KEYS, ARGV[2], suspects)
local decisions, counted, place = {}, {}, {}
for i = 1, #indexes do
  decisions[i] = withheld[indexes[i]] and withheld_from + withheld[indexes[i]] or 0
  if decisions[i] == 0 and ARGV[3] ~= '' then
    counted[#counted + 1] = indexes[i]
    place[#place + 1] = i
  end
end
if #counted > 0 then
  local rules, now = read_rules(ARGV[3]), tonumber(time[1])
  local taken = take(KEYS[5], KEYS[4], rules, ARGV[2], now, users_of(KEYS[2], counted), false)
  for i = 1, #taken do decisions[place[i]] = taken[i] end
end
for i = 1, #decisions do decisions[i] = struct.pack('>I4', decisions[i]) end
return table.concat(decisions)
