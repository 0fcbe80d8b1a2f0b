#!lua flags=allow-oom
-- acceptlate: replaces terminal outcomes with `accepted`, for pushes that the push service accepted after all.
-- Invariant: until the slice is closed, `accepted` wins over any other terminal outcome of the same target, whichever
-- worker reports it. The script changes the ledger record, the target's line in `results`, its reason, and the counters
-- of the slice and the variant in one step. If the target does not count in the frequency caps and the badge of its
-- user, the script counts it there.
-- `commit` does not replace these outcomes, because the target's line in `results` must change too. The field name of
-- the line is the text of the token, and a call of `commit` may lack this text. `commit` returns the indexes of these
-- targets, and its caller calls this script with the texts.
-- KEYS 1 slice, 2 ledger, 3 results, 4 reasons, 5 targets, 6 pressure, 7 users
-- ARGV 1 seal that the caller knows: the id of the claim that sealed the slice's targets
--      2 app
--      3 rules for frequency caps and badges ('' for none; `read_rules` in `grant.lua` has the format)
--      4... four values for each accepted push (at most 500): index of the target, its new record (12 bytes), text of
--        its token, its new line in `results` ('' to remove the line)
-- Returns the number of replaced outcomes; 0 if the slice is not sealed or has another seal
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
  -- As in `commit`: progress shows that the slice does not kill its workers, except during a search for a poison target
  -- (see `bisect`).
  if slice[3] and not slice[4] then redis.call('HDEL', KEYS[1], 'deaths') end
end
if ARGV[3] ~= '' and #uncounted > 0 then
  local counts = counting()
  local now = tonumber(redis.call('TIME')[1])
  counts.count_sent(KEYS[6], KEYS[7], counts.read_rules(ARGV[3]), ARGV[2], now, counts.users_of(KEYS[5], uncounted))
end
return replaced
