-- Shared by the scripts that count what users get; the loader puts it in front of them.
-- A user's record has, for each app: u8 length and name, u32 badge, what the app last said of the badge (u48 when (ms),
-- u32 which number), u8 number of campaigns, then for each campaign that came to the user lately u32 when (s), u32
-- category, u64 campaign (digests of their names), u8 holders: the user's targets that were granted and have not ended
-- unsent, u32 the badge that these show. 0 holders: a cap kept the campaign from the user, so it counts for nothing.
local nothing_said = ('\0'):rep(10)
local campaign_size = 21

-- Returns what stands in front of an app's part of a record, its badge, its campaigns, what stands behind it, and what
-- the app last said of its badge.
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

-- Returns the record that has these parts; an app of which nothing is known has none.
local function pressure_record(front, app, badge, campaigns, behind, said)
  if badge == 0 and campaigns == '' and said == nothing_said then return front .. behind end
  local part = string.char(#app) .. app .. struct.pack('>I4', badge) .. said
    .. string.char(#campaigns / campaign_size) .. campaigns
  return front .. part .. behind
end
