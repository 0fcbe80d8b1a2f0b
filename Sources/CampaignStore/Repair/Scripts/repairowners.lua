#!lua flags=allow-oom
-- repairowners: removes entries from the owner index, the hash `owner`, if they have not changed since the caller read
-- them.
-- Invariant: if a token has a registration in progress, its entry stays. A registration writes its note in `moving`
-- before its device, so the script finds the token in a note. The script counts each removed entry in `taken`. A
-- registration that has just written its note then finds another number in `settle`, and checks its tokens again.
-- KEYS 1 owner, 2 moving, 3 taken
-- ARGV 1 number of notes that the caller has checked and that contain none of the tokens, then the names of these
--      notes, then two values for each entry: token, 'registeredAt:user' as the caller read it
-- Returns for each entry 1 if it was removed, else 0
local known, notes, removed = {}, {}, {}
for i = 2, 1 + ARGV[1] do known[ARGV[i]] = true end
for _, name in ipairs(redis.call('HKEYS', KEYS[2])) do
  if not known[name] then notes[#notes + 1] = redis.call('HGET', KEYS[2], name) end
end
local count = 0
for i = 2 + ARGV[1], #ARGV, 2 do
  local stays = redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1]
  for k = 1, stays and 0 or #notes do stays = stays or notes[k]:find(ARGV[i], 1, true) ~= nil end
  if not stays then count = count + redis.call('HDEL', KEYS[1], ARGV[i]) end
  removed[#removed + 1] = stays and 0 or 1
end
if count > 0 then redis.call('INCRBY', KEYS[3], count) end
return removed
