#!lua flags=allow-oom
-- mendmembers: enters users into a list of users (a segment or a suppression list) under the present form of their ids.
-- An older version has them in the list under another form.
-- Invariant: the latest statement about a user stands, as in `setmembers`. A user stays out of the list only if a
-- statement about the present form says so and is newer; at the same time an opt-out stands, and so does a removal from
-- a segment. Nothing is entered that was said before the user was erased. A second run changes nothing.
-- KEYS 1 list, 2 its times, 3 erased, and for a suppression list 4 departures, 5 arrivals
-- ARGV 1 '1' when of two statements of the same time membership stands, else '0', 2 ms for which times are kept, then
--      three each, of at most 500 users, each once: user, when the older form became a member (ms; '' when the time
--      was forgotten), '1' when that was said of the user, '0' when it was said of the whole list
-- Returns how many users have become members
local names, now, tie_wins = {}, clock(), ARGV[1] == '1'
for i = 3, #ARGV, 3 do names[#names + 1] = ARGV[i] end
if #names == 0 then return 0 end
local inside = redis.call('SMISMEMBER', KEYS[1], unpack(names))
local times = redis.call('ZMSCORE', KEYS[2], '', unpack(names))
local erasure = erasures(KEYS[3], names)
local whole = tonumber(times[1] or nil)
local members, joined, said, arrived = {}, {}, {}, {}
for i = 1, #names do
  local user, given, is_own = names[i], ARGV[3 * i + 1], ARGV[3 * i + 2] == '1'
  local at = given == '' and now - ARGV[2] or math.min(given + 0, now)
  local known, was_member = tonumber(times[i + 1] or nil), inside[i] == 1
  local is_out = known and not was_member and (known > at or known == at and not tie_wins)
  if not is_out and at > (erasure[user] or -1) then
    members[#members + 1] = user
    if not was_member then joined[#joined + 1] = user end
    if given ~= '' and (is_own or at > (whole or -1)) then
      said[#said + 1] = at
      said[#said + 1] = user
    end
    arrived[#arrived + 1] = now
    arrived[#arrived + 1] = user
  end
end
if #members > 0 then redis.call('SADD', KEYS[1], unpack(members)) end
if KEYS[4] then
  depart(KEYS[4], joined)
  if #arrived > 0 and redis.call('EXISTS', KEYS[5]) == 1 then redis.call('ZADD', KEYS[5], unpack(arrived)) end
end
if #said > 0 then redis.call('ZADD', KEYS[2], 'GT', unpack(said)) end
-- The times of a list that was removed expire; it is there again.
if whole and #members > 0 then redis.call('PERSIST', KEYS[2]) end
return #joined
