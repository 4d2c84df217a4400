-- What was leased or inherited by a step whose answer never arrived is told again, with its URLs
-- waiting again; the session keeps the lease until it has set the clock and releases the host.
-- Each is told with the number of its lease.
-- session, number of the last answered step that takes hosts, hosts it knows of.
local session, answered, known = ARGV[1], tonumber(ARGV[2]), {}
for i = 3, #ARGV do known[ARGV[i]] = true end
local lost, passed, leased = {}, {}, call('HGETALL', T .. ':lease:' .. session)
for i = 1, #leased, 2 do
  local is_lost = not known[leased[i]] and tonumber(leased[i + 1]) <= answered
  if is_lost then lost[leased[i]] = leased[i + 1] end
end
if not next(lost) then return passed end
local all, fingerprints = call('HGETALL', T .. ':hand:' .. session), {}
for i = 1, #all, 2 do
  if lost[cmsgpack.unpack(all[i + 1])[3]] then fingerprints[#fingerprints + 1] = all[i] end
end
give_back(session, fingerprints)
for host, number in pairs(lost) do
  local told = about(host)
  told[8] = tonumber(number)
  passed[#passed + 1] = told
end
return passed
