#!lua flags=allow-oom
-- repairmembers: adds users to a segment or suppression list under the present form of their ids, because the list has
-- them in an older form. Earlier versions of Carillon stored the older form, which the present version does not find.
-- Invariant: the latest statement about a user wins, as in `setmembers`. A statement says that a user is or is not in
-- the list. A user stays out of the list only if a newer statement about the present form says so. If two statements
-- have the same time, an opt-out wins, and so does a removal from a segment. A statement from before a user's erasure
-- does not add the user. A second run changes nothing.
-- KEYS 1 segment or suppression list, 2 times of its statements (`stated`), 3 erased; only for a suppression list: 4
--      departures, 5 arrivals
-- ARGV 1 '1' if membership wins between two statements of the same time, else '0'
--      2 ms for which the times of statements are kept
--      then three values for each of at most 500 different users: user, when the older form became a member (ms since
--        the epoch; '' if the time is not stored any more), '1' if a statement about this user made it a member, '0' if
--        a statement about the whole list did
-- Returns the number of users who have become members
local names, now, tie_wins = {}, clock(), ARGV[1] == '1'
for i = 3, #ARGV, 3 do names[#names + 1] = ARGV[i] end
if #names == 0 then return 0 end
local inside = redis.call('SMISMEMBER', KEYS[1], unpack(names))
local times = redis.call('ZMSCORE', KEYS[2], '', unpack(names))
local erasure = erasures(KEYS[3], names)
local whole = tonumber(times[1] or nil)
local members, joined, statements, arrived = {}, {}, {}, {}
for i = 1, #names do
  local user, given, is_own = names[i], ARGV[3 * i + 1], ARGV[3 * i + 2] == '1'
  local at = given == '' and now - ARGV[2] or math.min(given + 0, now)
  local known, was_member = tonumber(times[i + 1] or nil), inside[i] == 1
  local is_out = known and not was_member and (known > at or known == at and not tie_wins)
  if not is_out and at > (erasure[user] or -1) then
    members[#members + 1] = user
    if not was_member then joined[#joined + 1] = user end
    if given ~= '' and (is_own or at > (whole or -1)) then
      statements[#statements + 1] = at
      statements[#statements + 1] = user
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
if #statements > 0 then redis.call('ZADD', KEYS[2], 'GT', unpack(statements)) end
-- When a list was removed, its times got an expiry. The list exists again, so its times must stay.
if whole and #members > 0 then redis.call('PERSIST', KEYS[2]) end
return #joined
