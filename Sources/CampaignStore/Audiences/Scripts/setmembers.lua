#!lua
-- setmembers: adds users to a segment or suppression list, or removes them from it.
-- Invariant: a statement says that a user is, or is not, a member of the list. The latest statement about a user wins,
-- in whatever order statements arrive. The sorted set `stated` has the times of the statements; its member '' is the
-- time of the last statement about the whole list. If a member has no time, the time of the whole list counts. If the
-- list has no time either, the present time minus the retention time counts. A statement from before a user's erasure
-- does not add the user.
-- A user who enters a suppression list has departed (`depart.lua`). While an import replaces the list, this script
-- records in `arrivals` the users who opt out, so that the new list also contains them.
-- KEYS 1 segment or suppression list, 2 times of its statements (`stated`), 3 erased; only for a suppression list: 4
--      departures, 5 arrivals
-- ARGV 1 '1' if membership wins between two statements of the same time, else '0'
--      2 retention time: ms for which the times of statements are kept
--      then three values for each of at most 500 different users: user, time of the statement (ms since the epoch; ''
--        for now), '1' for a member, '0' for a non-member
-- Returns three numbers: users who have become members, users who have left, and users without a change because of a
-- newer statement or a later erasure
local names, now, tie_wins = {}, clock(), ARGV[1] == '1'
for i = 3, #ARGV, 3 do names[#names + 1] = ARGV[i] end
local inside = redis.call('SMISMEMBER', KEYS[1], unpack(names))
local times = redis.call('ZMSCORE', KEYS[2], '', unpack(names))
local erasure = erasures(KEYS[3], names)
local whole = tonumber(times[1] or nil)
local joined, left, statements, arrived, superseded = {}, {}, {}, {}, 0
for i = 1, #names do
  local user, given, is_member, was_member = names[i], ARGV[3 * i + 1], ARGV[3 * i + 2] == '1', inside[i] == 1
  local at = given == '' and now or math.min(given + 0, now)
  local known = tonumber(times[i + 1] or nil)
  if not known and was_member then known = whole or now - ARGV[2] end
  known = math.max(known or -1, whole or -1)
  if at < known or at == known and was_member ~= is_member and is_member ~= tie_wins
    or at <= (erasure[user] or -1) then
    superseded = superseded + 1
  else
    statements[#statements + 1] = at
    statements[#statements + 1] = user
    if is_member then
      arrived[#arrived + 1] = now
      arrived[#arrived + 1] = user
    end
    if is_member and not was_member then joined[#joined + 1] = user end
    if was_member and not is_member then left[#left + 1] = user end
  end
end
if #joined > 0 then redis.call('SADD', KEYS[1], unpack(joined)) end
if KEYS[4] then
  depart(KEYS[4], joined)
  if #arrived > 0 and redis.call('EXISTS', KEYS[5]) == 1 then redis.call('ZADD', KEYS[5], unpack(arrived)) end
end
if #left > 0 then redis.call('SREM', KEYS[1], unpack(left)) end
if #statements > 0 then redis.call('ZADD', KEYS[2], unpack(statements)) end
-- When a list was removed, its times got an expiry. The list exists again, so its times must stay.
if whole and #statements > 0 then redis.call('PERSIST', KEYS[2]) end
return {#joined, #left, superseded}
