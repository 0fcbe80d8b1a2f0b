-- Functions shared by the scripts that derive outcomes from ledger records. The loader puts this file in front of them.
-- `outcome_of` is the counterpart of `PushCore/Ledger/LedgerRecord.outcome(in:isGranted:)`, and `OutcomeTableTests`
-- compares the two.
-- The sixth byte of a record is the history of the target's attempts. Bits 0 to 5 count attempts. Bit 7 is set if an
-- attempt was sent and not answered. Bit 6 is set if the granted attempt is withheld, so the target ends without a
-- push.

-- Outcomes that say that no push was delivered, although no push service refused the target permanently: failed,
-- expired, cancelled, capped, optedOut, deviceGone.
local says_undelivered = {[22] = true, [23] = true, [25] = true, [26] = true, [27] = true, [28] = true}

-- Returns whether a target with this outcome is removed from its user's counters. This is the case for all outcomes
-- except `accepted` and `unknown`.
local function gives_back(state) return state >= 16 and state ~= 16 and state ~= 24 end

local function is_ambiguous(history) return history >= 128 end
local function is_withheld(history) return math.floor(history / 64) % 2 == 1 end

-- Returns the code of a target's outcome, or nil if the target has no outcome yet. `state` and `history` are bytes of
-- its record; both are 0 if the target has no record. `phase` is the phase of the slice. A target is granted if its
-- index is below the slice's number of granted targets.
local function outcome_of(state, history, is_granted, phase)
  if state >= 16 then return state end
  if phase ~= 'cancelled' then return nil end
  if is_ambiguous(history) or state == 0 and is_granted and not is_withheld(history) then return 24 end
  return 25
end

