-- A URL ends once, by the worker that has it in hand, together with the links that were found:
-- those of this partition are put, what goes elsewhere is kept in the outbox until delivered.
-- session, fingerprint, outcome, is a page, row, outbox id, outbox, number of links, links.
local session, fingerprint = ARGV[1], ARGV[2]
if not is_live(session) then return {0, 0} end
local entry = let_go(session, fingerprint)
if not entry then return {1, 0} end  -- said twice: the answer was lost, the work was not
local host = entry[3]
if call('HSET', T .. ':pages', fingerprint, ARGV[5]) == 0 then count('again', 1) end
if ARGV[4] == '1' then call('HINCRBY', host_key(host), 'fe', 1) end
count('e' .. ARGV[3], 1)
count('waiting', -1)
if call('HEXISTS', host_key(host), 'fl') == 1 then count('frozen', -1) end
if ARGV[6] ~= '' then call('HSET', T .. ':out:' .. session, ARGV[6], ARGV[7]) end
local new = put(9, tonumber(ARGV[8]))
stand_all(host)
return {1, new}
