#!lua
-- submit: puts a job on the producers' list, unless another job has its id or the job was already taken in. If the job
-- is from the dead list, the script removes the job from there.
-- The digest of a job is the SHA-1 of its canonical form, which is the same for all jobs with the same content.
-- Invariant: an id names one job for 90 days, and submitting the same job again changes nothing. A job from the dead
-- list is always on one of the two lists, so the script pushes the job before it writes anything else. A job that was
-- submitted and not taken in is normally among the next 10,000 jobs of the list. If it is not there, it may be lost,
-- and the script pushes it again. Workers take in a repeated job only once.
-- Only this script records who submits a job; a submitter that the job itself names is ignored. The record contains the
-- digest of the job, so the recorded name is valid for exactly this job.
-- A job may have become invalid after it was written, for example because its send time has passed. The caller then
-- sets ARGV 7: the script refuses the job unless its id is already reserved.
-- Earlier versions of Carillon computed the digest from a canonical form with default values. Such a digest stays
-- valid.
-- KEYS 1 job, 2 campaign, 3 producers' list; then the dead list, if the job is from there; then the submitter, if it is
--      known
-- ARGV 1 job as written
--      2 canonical form of the job
--      3 seconds for which the id stays reserved
--      4 key of the job's entry in the dead list ('' if the job is not from there)
--      5 submitter ('' if unknown)
--      6 canonical form as earlier versions of Carillon wrote it ('' if it is the same)
--      7 '1' to refuse the job if its id is not reserved
-- Returns one of:
--      'new' if this call submitted the job for the first time
--      'duplicate' if the job was submitted before
--      'conflict' if another job has the id
--      'refused' because of ARGV 7
--      'gone' if the dead list no longer has the entry
local comes_back = ARGV[4] ~= ''
if comes_back and #redis.call('XRANGE', KEYS[4], ARGV[4], ARGV[4]) == 0 then return 'gone' end
local digest = redis.sha1hex(ARGV[2])
local known = redis.call('GET', KEYS[1])
if known and ARGV[6] ~= '' and known:sub(1, 40) == redis.sha1hex(ARGV[6]) then digest = known:sub(1, 40) end
if known and known:sub(1, 40) ~= digest then return 'conflict' end
if ARGV[7] == '1' and not known then return 'refused' end
local is_taken_in = known and #known > 40 or redis.call('HLEN', KEYS[2]) > 0
if not is_taken_in then
  if not known or not redis.call('LPOS', KEYS[3], ARGV[1], 'RANK', -1, 'MAXLEN', 10000) then
    redis.call('LPUSH', KEYS[3], ARGV[1])
  end
  redis.call('SET', KEYS[1], digest, 'EX', ARGV[3])
  if not known and ARGV[5] ~= '' then redis.call('SET', KEYS[#KEYS], digest .. ' ' .. ARGV[5], 'EX', ARGV[3]) end
end
if comes_back then redis.call('XDEL', KEYS[4], ARGV[4]) end
return (known or is_taken_in) and 'duplicate' or 'new'
