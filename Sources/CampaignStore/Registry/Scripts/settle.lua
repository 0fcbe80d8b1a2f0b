#!lua
-- settle: removes the note of completed registrations from `moving`. The note stays if a token of the partition was
-- taken from a user after the note was written.
-- Invariant: a note stays until a caller has checked which of its registrations are still the newest.
-- KEYS 1 moving, 2 taken
-- ARGV 1 name of the note, 2 number of tokens taken from users so far, as `bind` returned it with the note
-- Returns 1, or 0 if the note stays and the caller must check it
if (redis.call('GET', KEYS[2]) or '0') ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
return 1
