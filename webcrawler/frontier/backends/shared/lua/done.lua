-- A URL ends once, by the worker that has it in hand, together with the links that were found:
-- those of this partition are put, what goes elsewhere is kept in the outbox until delivered.
-- session, fingerprint, outcome, is a page, row, outbox id, outbox, number of links, links.
local session, fingerprint = ARGV[1], ARGV[2]
local entry = is_live(session) and let_go(session, fingerprint)
if not entry then
  -- Said twice, where the answer was lost and not the work; or somebody else has ended it.
  local row = call('HGET', T .. ':pages', fingerprint)
  return {row and string.sub(row, 1, 2) == string.sub(ARGV[5], 1, 2) and 1 or 0, 0}
end
local host = entry[3]
if call('HSET', T .. ':pages', fingerprint, ARGV[5]) == 0 then count('again', 1) end
if ARGV[4] == '1' then
  call('HINCRBY', host_key(host), 'fe', 1)
  count('w' .. (string.byte(ARGV[5], 1) + 256 * string.byte(ARGV[5], 2)), 1)
end
count('e' .. ARGV[3], 1)
count('waiting', -1)
if call('HEXISTS', host_key(host), 'fl') == 1 then count('frozen', -1) end
if ARGV[6] ~= '' then call('HSET', T .. ':out:' .. session, ARGV[6], ARGV[7]) end
local new = put(9, tonumber(ARGV[8]))
stand_all(host)
return {1, new}
