#!lua flags=allow-oom
-- repairretry: compares the ledger of a slice with `retry`, the list of targets that wait for a retry. Repairs that
-- list if ARGV 1 is '1'.
-- Invariant: exactly the waiting targets are in the list. A waiting target outside the list would never be sent, and an
-- ended target in the list would be sent again. One script writes record and list, so a difference is not a change in
-- progress.
-- KEYS 1 slice, 2 ledger, 3 retry
-- ARGV 1 '1' to repair, '0' to check only; 2... indexes of targets to compare
-- Returns two values for each difference: 'waits' if a waiting target is missing in the list, or 'ended' if the list
-- has a target that does not wait; then the index
local found = {}
if redis.call('HGET', KEYS[1], 'phase') ~= 'sealed' then return found end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, #ARGV do
  local waits = redis.call('GETRANGE', KEYS[2], ARGV[i] * 12, ARGV[i] * 12) == '\1'
  local is_in = redis.call('ZSCORE', KEYS[3], ARGV[i])
  if waits and not is_in then
    found[#found + 1] = 'waits'
    if ARGV[1] == '1' then redis.call('ZADD', KEYS[3], now, ARGV[i]) end
  elseif is_in and not waits then
    found[#found + 1] = 'ended'
    if ARGV[1] == '1' then redis.call('ZREM', KEYS[3], ARGV[i]) end
  end
  if #found % 2 == 1 then found[#found + 1] = ARGV[i] end
end
return found
