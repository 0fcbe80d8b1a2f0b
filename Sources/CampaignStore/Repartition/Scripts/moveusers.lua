#!lua
-- moveusers: removes users from a partition after the caller has copied them to their new partition.
-- Invariant: the script removes a user only if the user's devices have not changed since the caller copied them. The
-- caller's next pass copies a changed user again.
-- KEYS 1 devices, 2 users, 3 attributes, 4 quarantine, 5 pressure
-- ARGV two values for each user: user, device records as the caller copied them
-- Returns the number of removed users
local moved = 0
for i = 1, #ARGV, 2 do
  local user, blob = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', KEYS[1], user) == blob then
    local at = 1
    while at < #blob do
      if flags_of(blob, at) == 1 then
        remove_note(KEYS[4], user, blob:sub(at + 19, at + 18 + struct.unpack('>I2', blob, at + 17)))
      end
      at = at + 2 + struct.unpack('>I2', blob, at)
    end
    remove_users(KEYS[1], KEYS[2], KEYS[3], KEYS[5], {user})
    moved = moved + 1
  end
end
return moved
