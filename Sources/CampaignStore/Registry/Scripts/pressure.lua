-- Shared by the scripts that count pushes for users; the loader puts it in front of them.
-- A user's record has for each app: u8 length and name, u32 badge, the app's last statement about the badge (u48 time
-- (ms), u32 number), u8 number of campaigns, then for each recent campaign of the user: u32 time (s), u32 category, u64
-- campaign (digests of their names), u8 holders, u32 badge that the holders show. The holders are the user's targets
-- that were granted and have not ended unsent. With 0 holders a cap kept the campaign from the user, so the campaign
-- does not count.
-- The first granted target of a user enters the campaign and raises the badge, or finds that a cap is reached and
-- enters the campaign without a holder. The user's other targets follow it. Retries and targets in doubt are not
-- counted again. They show the badge of the entry. If the app has set another badge since, the badge rises again. A
-- target that ends with any outcome but accepted and unknown gives up its hold in the same step (`commit`, `close`).
-- With the last hold the entry leaves, and the badge goes back by its step, unless the app has set it since.
local nothing_said = ('\0'):rep(10)
local campaign_size = 21

-- Returns the part of a record in front of an app, the app's badge and campaigns, the part after it, and the app's last
-- statement about its badge.
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
  return record, 0, '', '', nothing_said
end

-- Returns the record with these parts; an app without any value has no part.
local function pressure_record(front, app, badge, campaigns, behind, said)
  if badge == 0 and campaigns == '' and said == nothing_said then return front .. behind end
  local part = string.char(#app) .. app .. struct.pack('>I4', badge) .. said
    .. string.char(#campaigns / campaign_size) .. campaigns
  return front .. part .. behind
end
