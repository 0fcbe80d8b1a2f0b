#!lua
-- settle: removes the note of registrations that have ended, unless a token was taken from a user meanwhile.
-- Invariant: a note stays until somebody has looked which of its registrations still stand.
-- KEYS 1 moving, 2 taken
-- ARGV 1 the note's name, 2 how often tokens had been taken when it was written
-- Returns 1, or 0 when it is to be looked at
if (redis.call('GET', KEYS[2]) or '0') ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
return 1
