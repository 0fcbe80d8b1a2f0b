#!lua flags=allow-oom
-- repairquarantine: finds notes in the hash `quarantine` whose devices are not in quarantine, and removes them if
-- ARGV 1 is '1'.
-- Invariant: every note belongs to a device in quarantine. A note that changed since the caller read it stays. The note
-- of a user whose devices can't be read also stays.
-- KEYS 1 devices, 2 quarantine
-- ARGV 1 '1' to remove the notes, '0' to check only
--      2... three values for each note: token, user ('' if the note can't be read), note as the caller read it
-- Returns the places of the found notes in ARGV 2..., from 0
local found = {}
for i = 2, #ARGV, 3 do
  local token = ARGV[i]
  local blob = ARGV[i + 1] ~= '' and redis.call('HGET', KEYS[1], ARGV[i + 1]) or ''
  local is_read, at = pcall(find_device, blob, token)
  if is_read and not (at and flags_of(blob, at) == 1) and redis.call('HGET', KEYS[2], token) == ARGV[i + 2] then
    found[#found + 1] = (i - 2) / 3
    if ARGV[1] == '1' then redis.call('HDEL', KEYS[2], token) end
  end
end
return found
