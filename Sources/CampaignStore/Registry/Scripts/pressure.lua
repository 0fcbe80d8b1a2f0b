-- Functions shared by the scripts that count pushes for frequency caps and badges. The loader puts this file in front
-- of these scripts.
-- The hash `pressure` has a record of each user. A record has for each app: u8 length and name, u32 badge, the badge
-- that the app reported last (u48 time (ms), u32 number), u8 number of campaigns. Then for each recent campaign of the
-- user: u32 time (s), u32 category, u64 campaign (digests of their names), u8 number of targets, u32 badge in the
-- pushes of these targets.
-- The number of targets is the number of the user's granted targets, without those that ended unsent. If the number is
-- 0, the user has reached a cap: the user does not get the campaign, and the campaign does not count.
-- The script that grants the first target of a user adds the campaign to the record and raises the badge. If the user
-- has reached a cap, it adds the campaign with 0 targets. The user's other targets get the same decision and the same
-- badge.
-- Retries and targets in doubt are not counted again. They get the recorded badge. If the app has reported another
-- badge since then, the badge rises again.
-- If a target ends with an outcome other than accepted and unknown, `commit` or `close` lowers the number of targets in
-- the same step. If the number becomes 0, the campaign is removed from the record. The badge is then lowered again,
-- unless the app has reported a badge since then. If a push service accepted the push of such a target after all,
-- `acceptlate` counts the target again.
local nothing_reported = ('\0'):rep(10)
local campaign_size = 21

-- Returns five values: the part of a record before an app, the app's badge, the app's campaigns, the part after the
-- app, and the badge that the app reported last.
local function pressure_parts(record, app)
  local name = string.char(#app) .. app
  local at = 1
  while at < #record do
    local behind = at + 1 + record:byte(at)
    local badge, campaigns = struct.unpack('>I4', record, behind), record:byte(behind + 14)
    local past = behind + 15 + campaigns * campaign_size
    if record:sub(at, behind - 1) == name then
      return record:sub(1, at - 1), badge, record:sub(behind + 15, past - 1), record:sub(past),
        record:sub(behind + 4, behind + 13)
    end
    at = past
  end
  return record, 0, '', '', nothing_reported
end

-- Returns the record with these parts. If the app has no badge, no campaign and no reported badge, the record does not
-- contain the app.
local function pressure_record(front, app, badge, campaigns, behind, reported)
  if badge == 0 and campaigns == '' and reported == nothing_reported then return front .. behind end
  local part = string.char(#app) .. app .. struct.pack('>I4', badge) .. reported
    .. string.char(#campaigns / campaign_size) .. campaigns
  return front .. part .. behind
end
