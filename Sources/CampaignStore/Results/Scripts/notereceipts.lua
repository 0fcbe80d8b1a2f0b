#!lua
-- notereceipts: notes that a campaign has receipts, so that they get their expiry with its end.
-- Invariant: a campaign that is gone stays so.
-- KEYS 1 campaign
-- Returns 1, or 0 when there is none
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'receipts', 1)
return 1
