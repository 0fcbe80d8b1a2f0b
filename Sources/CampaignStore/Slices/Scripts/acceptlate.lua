#!lua flags=allow-oom
-- acceptlate: replaces terminal outcomes with `accepted`, for pushes that were accepted after all.
-- Invariant: until the slice is closed, `accepted` wins over any other terminal outcome, whichever worker reports it.
-- Counters, results, reasons and the counters of the variant change in the same step as the record. If such a target is
-- not counted in its user's frequency caps and badge now, the script counts it.
-- `commit` can't replace these outcomes, because the result line must change too. The name of the line's field is the
-- text of the token. Only the Swift code of the push service can write this text. The caller of `commit` therefore
-- calls this script with the text.
-- KEYS 1 slice, 2 ledger, 3 results, 4 reasons, 5 targets, 6 pressure, 7 users
-- ARGV 1 seal, 2 app, 3 rules for frequency caps and badges ('' for none; see `grant.lua`), 4... four values for each
--      of at most 500 acceptances: index, the 12 bytes of the record, token's text, result line ('' for none)
-- Returns the number of outcomes that were replaced
local slice = redis.call('HMGET', KEYS[1], 'phase', 'seal', 'deaths', 'bisected')
if slice[1] ~= 'sealed' or (slice[2] or '') ~= ARGV[1] then return 0 end
local replaced, uncounted = 0, {}
for i = 4, #ARGV, 4 do
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
    if gives_back(state) then uncounted[#uncounted + 1] = tonumber(ARGV[i]) end
    replaced = replaced + 1
  end
end
if replaced > 0 then
  redis.call('HINCRBY', KEYS[1], '16', replaced)
  -- As in `commit`: a slice that makes progress does not kill its workers.
  if slice[3] and not slice[4] then redis.call('HDEL', KEYS[1], 'deaths') end
end
if ARGV[3] ~= '' and #uncounted > 0 then
  local counts = counting()
  local now = tonumber(redis.call('TIME')[1])
  counts.count_sent(KEYS[6], KEYS[7], counts.read_rules(ARGV[3]), ARGV[2], now, counts.users_of(KEYS[5], uncounted))
end
return replaced
