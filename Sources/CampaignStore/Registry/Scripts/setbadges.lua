#!lua
-- setbadges: sets badges of users to the numbers that apps have reported.
-- Invariant: the latest report of an app wins, in whatever order the reports arrive. If two reports have the same time,
-- the smaller number wins. If a report is repeated, the pushes since the first report still count in the badge. The
-- script drops a report from before a user's erasure. The record of a user without a device is retained.
-- KEYS 1 pressure, 2 users, 3 erased, 4 retained
-- ARGV four values for each of at most 500 reports: user, app, badge, time of the app's report (ms)
-- Returns the number of reports that changed nothing because of a newer report or a later erasure
local names, superseded, waiting = {}, 0, {}
for i = 1, #ARGV, 4 do names[#names + 1] = ARGV[i] end
local erasure = erasures(KEYS[3], names)
local listed = redis.call('SMISMEMBER', KEYS[2], unpack(names))
for i = 1, #ARGV, 4 do
  local user, app, badge, at = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local record = redis.call('HGET', KEYS[1], user) or ''
  local front, known, times, behind, reported = pressure_parts(record, app)
  local reported_at, reported_badge = struct.unpack('>I6I4', reported)
  if at < reported_at or at == reported_at and badge > reported_badge or at <= (erasure[user] or -1) then
    superseded = superseded + 1
  elseif at > reported_at or badge < reported_badge then
    local number = at > reported_at and badge or math.max(0, known - reported_badge + badge)
    local word = struct.pack('>I6I4', at, badge)
    redis.call('HSET', KEYS[1], user, pressure_record(front, app, number, times, behind, word))
    if listed[(i + 3) / 4] == 0 then waiting[#waiting + 1] = user end
  end
end
retain(KEYS[4], waiting)
return superseded
