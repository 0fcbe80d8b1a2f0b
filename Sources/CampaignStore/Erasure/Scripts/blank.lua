#!lua flags=allow-oom
-- blank: removes the token, the user and the values of erased targets from a page of sealed targets.
-- Invariant: every other target stays unchanged at its place, and so do all counters. While the slice runs, the script
-- lists the erased targets in the slice's field `blanked`, so that `commit` writes no line in `results` and no notice
-- in `outbox` for them. The first two bytes of a target's values stay, because `close` reads the variant from them. The
-- script removes the index `recipients`, which is built again when it is next needed.
-- If the script erases a target, it writes the present format version into the slice, so a worker of an older version
-- refuses the slice.
-- The script also runs when Redis has no free memory, because the page only becomes shorter.
-- KEYS 1 slice, 2 targets, 3 results, 4 recipients
-- ARGV 1 seal that the caller knows: the id of the claim that sealed the slice's targets
--      2 number of the page
--      3 number of targets on a page
--      4 version of targets and ledger
--      5 user
--      6 number of tokens in the list that follows
--      then these tokens: a target without a user is erased if it has one of them
--      then the texts of tokens whose lines in `results` are removed
-- Returns the number of erased targets
local slice = redis.call('HMGET', KEYS[1], 'phase', 'seal', 'blanked')
if not slice[1] or (slice[2] or '') ~= ARGV[1] then return 0 end
local tokens, texts = {}, {}
for i = 7, 6 + ARGV[6] do tokens[ARGV[i]] = true end
for i = 7 + ARGV[6], #ARGV do texts[#texts + 1] = ARGV[i] end
local page = redis.call('LINDEX', KEYS[2], ARGV[2]) or ''
local pieces, from, at, index, erased = {}, 1, 1, ARGV[2] * ARGV[3], {}
while at + 3 <= #page do
  local token, user = struct.unpack('>I2I2', page, at)
  local size, has_values, values = token % 32768, token >= 32768, ''
  local name = page:sub(at + 4 + size, at + 3 + size + user)
  local behind = at + 4 + size + user
  if has_values then
    local length = struct.unpack('>I2', page, behind)
    values = page:sub(behind + 2, behind + 1 + math.min(2, length))
    behind = behind + 2 + length
  end
  if size > 0 and (name == '' and tokens[page:sub(at + 4, at + 3 + size)] or name ~= '' and name == ARGV[5]) then
    pieces[#pieces + 1] = page:sub(from, at - 1)
    pieces[#pieces + 1] = has_values and struct.pack('>I2I2I2', 32768, 0, #values) .. values or '\0\0\0\0'
    erased[#erased + 1] = struct.pack('>I4', index)
    from = behind
  end
  at, index = behind, index + 1
end
if #erased > 0 then
  pieces[#pieces + 1] = page:sub(from)
  redis.call('LSET', KEYS[2], ARGV[2], table.concat(pieces))
  redis.call('HSET', KEYS[1], 'format', ARGV[4])
  if slice[1] == 'sealed' then redis.call('HSET', KEYS[1], 'blanked', (slice[3] or '') .. table.concat(erased)) end
  redis.call('UNLINK', KEYS[4])
end
if #texts > 0 then redis.call('HDEL', KEYS[3], unpack(texts)) end
return #erased
