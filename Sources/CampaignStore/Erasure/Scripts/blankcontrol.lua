#!lua flags=allow-oom
-- blankcontrol: removes an erased user from a page of a slice's control group.
-- Invariant: every other user stays, and so does the number of entries: the user's entry gets the length 0.
-- The script also runs when Redis has no free memory, because the page only becomes shorter.
-- KEYS 1 control group
-- ARGV 1 number of the page, 2 user
-- Returns the number of erased entries
local page = redis.call('LINDEX', KEYS[1], ARGV[1]) or ''
local pieces, from, at, erased = {}, 1, 1, 0
while at + 1 <= #page do
  local behind = at + 2 + struct.unpack('>I2', page, at)
  if page:sub(at + 2, behind - 1) == ARGV[2] then
    pieces[#pieces + 1] = page:sub(from, at - 1)
    pieces[#pieces + 1] = '\0\0'
    from, erased = behind, erased + 1
  end
  at = behind
end
if erased > 0 then
  pieces[#pieces + 1] = page:sub(from)
  redis.call('LSET', KEYS[1], ARGV[1], table.concat(pieces))
end
return erased
