#!lua flags=allow-oom
-- acceptlate: replaces other terminal outcomes with acceptances.
-- Invariant: `accepted` wins over any other terminal outcome, whichever worker reports it and however late. Counters,
-- results, reasons and the counters of the variant change in the same step as the record.
-- `commit` can't replace these outcomes, because the result line must change too. The field of that line is the text of
-- the token, which only the Swift code of the push service can write. So the caller of `commit` calls this script with
-- the text.
-- KEYS 1 slice, 2 ledger, 3 results, 4 reasons
-- ARGV 1 seal, 2... four values for each acceptance: index, the 12 bytes of the record, token's text, result line (''
--      for none)
-- Returns the number of outcomes that were replaced
local slice = redis.call('HMGET', KEYS[1], 'phase', 'seal', 'deaths', 'bisected')
if slice[1] ~= 'sealed' or (slice[2] or '') ~= ARGV[1] then return 0 end
local replaced = 0
for i = 2, #ARGV, 4 do
  local record = redis.call('GETRANGE', KEYS[2], ARGV[i] * 12, ARGV[i] * 12 + 6)
  local state, variant = record:byte() or 0, record:byte(7) or 0
  if state > 16 then
    redis.call('SETRANGE', KEYS[2], ARGV[i] * 12, ARGV[i + 1])
    redis.call('HINCRBY', KEYS[1], state, -1)
    local new_variant = ARGV[i + 1]:byte(7)
    if variant >= 16 then redis.call('HINCRBY', KEYS[1], variant - variant % 16 + state, -1) end
    if new_variant >= 16 then redis.call('HINCRBY', KEYS[1], new_variant - new_variant % 16 + 16, 1) end
    redis.call('HDEL', KEYS[4], ARGV[i])
    if ARGV[i + 3] == '' then
      redis.call('HDEL', KEYS[3], ARGV[i + 2])
    else
      redis.call('HSET', KEYS[3], ARGV[i + 2], ARGV[i + 3])
    end
    replaced = replaced + 1
  end
end
if replaced > 0 then
  redis.call('HINCRBY', KEYS[1], '16', replaced)
  -- As in `commit`: a slice that makes progress does not kill its workers.
  if slice[3] and not slice[4] then redis.call('HDEL', KEYS[1], 'deaths') end
end
return replaced
