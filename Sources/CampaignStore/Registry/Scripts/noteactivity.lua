#!lua
-- noteactivity: adds users to the users of a Live Activity (the segment `@ACTIVITY`), before `upsert` writes the
-- devices with their tokens.
-- Invariant: a registration from before a user's erasure does not add the user.
-- KEYS 1 segment of the activity, 2 erased
-- ARGV two values for each of at most 500 users: user, time of the registration (ms)
-- Returns the number of users who were not in the segment before
local names, joined = {}, {}
for i = 1, #ARGV, 2 do names[#names + 1] = ARGV[i] end
local erasure = erasures(KEYS[2], names)
for i = 1, #names do
  if ARGV[2 * i] + 0 > (erasure[names[i]] or -1) then joined[#joined + 1] = names[i] end
end
if #joined == 0 then return 0 end
return redis.call('SADD', KEYS[1], unpack(joined))
