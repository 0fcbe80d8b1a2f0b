#!lua flags=no-writes
-- reached: reads users of a campaign that has ended, by what became of their pushes, a few pages of targets at a time.
-- Keeps: nothing is written. A user with several devices comes once for each that matches.
-- KEYS 1 targets, 2 ledger, both of one slice
-- ARGV 1 the first page, 2 how many pages, 3 targets on a page, 4 bytes of a record, 5... codes of outcomes
-- Returns {the next page, or 0 after the last, {users}}
local first, count, size, width = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local pages = redis.call('LRANGE', KEYS[1], first, first + count - 1)
local from = first * size * width
local ledger = redis.call('GETRANGE', KEYS[2], from, from + #pages * size * width - 1)
local wanted = {}
for i = 5, #ARGV do wanted[tonumber(ARGV[i])] = true end
local users, record = {}, 1
for _, page in ipairs(pages) do
  local at = 1
  while at < #page do
    local a, b, c, d = string.byte(page, at, at + 3)
    -- The highest bit of a token's length says that values stand behind the user.
    local user = at + 4 + a % 128 * 256 + b
    at = user + c * 256 + d
    if at > user and wanted[string.byte(ledger, record)] then users[#users + 1] = string.sub(page, user, at - 1) end
    if a >= 128 then
      local e, f = string.byte(page, at, at + 1)
      at = at + 2 + e * 256 + f
    end
    record = record + width
  end
end
return {tostring(#pages < count and 0 or first + count), users}
