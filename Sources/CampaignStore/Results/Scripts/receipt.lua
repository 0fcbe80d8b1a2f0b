#!lua
-- receipt: records receipts of one kind for a campaign: apps reported that users got, opened or dismissed its pushes.
-- Invariant: a user counts once for each kind of receipt, however many receipts arrive, and for one variant if the
-- campaign has variants. The user counts only if a push of the campaign may have been delivered to the user. A receipt
-- stays as long as the campaign's results. Nothing is recorded if the campaign no longer exists or has no slice in this
-- partition.
-- KEYS 1 users with a receipt of this kind, 2 slice, 3 recipients: the index of the slice's targets by user, 4 ledger
-- ARGV 1 ms from the last receipt until the receipts expire, while the campaign runs. In a campaign with variants, a
--      blank and a field of the slice follow: the field that counts these receipts for the users' variant
--      2... two values for each user: id, hash of the id as a number
-- Returns the number of users who had no receipt of this kind before; -1 if the slice does not exist, is not sealed, or
-- has no targets; -2 if the caller must first build the index `recipients`
local left = redis.call('PTTL', KEYS[2])
if left == -2 then return -1 end
local slice = redis.call('HMGET', KEYS[2], 'seal', 'granted', 'count')
if not slice[1] or (slice[3] or '0') == '0' then return -1 end
local from, count = recipient_entries(KEYS[3], slice[1])
if not from then return -2 end
local granted, reached = tonumber(slice[2] or 0), {}
for i = 2, #ARGV, 2 do
  if may_have_reached(KEYS[3], KEYS[4], from, count, granted, tonumber(ARGV[i + 1])) then
    reached[#reached + 1] = ARGV[i]
  end
end
if #reached == 0 then return 0 end
local milliseconds, field = ARGV[1]:match('^(%d+) ?(.*)$')
local added = redis.call('SADD', KEYS[1], unpack(reached))
redis.call('PEXPIRE', KEYS[1], left > 0 and left or milliseconds)
if field ~= '' and added > 0 then redis.call('HINCRBY', KEYS[2], field, added) end
return added
