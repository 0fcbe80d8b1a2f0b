#!lua flags=no-writes
-- reached: returns users of an ended campaign by the outcomes of their targets, some pages at a time.
-- Invariant: the script writes nothing. A user with several matching devices is returned once for each device.
-- `outcome_of` derives the outcomes, so the script finds the same targets that results and counters show under an
-- outcome.
-- KEYS 1 targets, 2 ledger, 3 slice
-- ARGV 1 number of the first page, 2 number of pages, 3 number of targets on a page, 4 bytes of a ledger record,
--      5... codes of the wanted outcomes
-- Returns {number of the next page, 0 after the last page; {users}}
local first, count, size, width = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local pages = redis.call('LRANGE', KEYS[1], first, first + count - 1)
local index = first * size
local ledger = redis.call('GETRANGE', KEYS[2], index * width, (index + #pages * size) * width - 1)
local slice = redis.call('HMGET', KEYS[3], 'phase', 'granted')
local phase, granted = slice[1], tonumber(slice[2] or 0) or 0
local wanted = {}
for i = 5, #ARGV do wanted[tonumber(ARGV[i])] = true end
local users, record = {}, 1
for _, page in ipairs(pages) do
  local at = 1
  while at < #page do
    local a, b, c, d = string.byte(page, at, at + 3)
    -- The highest bit of a token's length means that values follow the user.
    local user = at + 4 + a % 128 * 256 + b
    at = user + c * 256 + d
    if at > user then
      local state, history = string.byte(ledger, record), string.byte(ledger, record + 5)
      local outcome = outcome_of(state or 0, history or 0, index < granted, phase)
      if outcome and wanted[outcome] then users[#users + 1] = string.sub(page, user, at - 1) end
    end
    if a >= 128 then
      local e, f = string.byte(page, at, at + 1)
      at = at + 2 + e * 256 + f
    end
    record, index = record + width, index + 1
  end
end
return {tostring(#pages < count and 0 or first + count), users}
