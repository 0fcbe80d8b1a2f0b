#!lua
-- notereceipts: records in a campaign that receipts for it have arrived, so that the receipts expire after the
-- campaign's end.
-- Invariant: the script does not create a record for a campaign that no longer exists.
-- KEYS 1 campaign
-- Returns 1, or 0 if there is no such campaign
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'receipts', 1)
return 1
