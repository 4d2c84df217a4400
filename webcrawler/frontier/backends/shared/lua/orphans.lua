-- A session has here what its worker knows of. URLs in hand that it does not know of wait again. A host
-- that was leased or inherited by a step whose answer never arrived is told again; the session
-- keeps the lease until it has set the clock and releases the host. Each is told with the number
-- of its lease.
-- session, number of the last answered step that takes hosts, number of hosts it knows of, those
-- each with the number of its lease, fingerprints it knows of.
-- How many hosts it knows of that it has not here, and those that it did not know of.
local session, answered, hosts = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local known, missing, passed = {}, hosts, {}
for i = 4, 3 + 2 * hosts, 2 do known[ARGV[i]] = ARGV[i + 1] end
local in_hand = {}
for i = 4 + 2 * hosts, #ARGV do in_hand[ARGV[i]] = true end
local lost, leased = {}, call('HGETALL', T .. ':lease:' .. session)
for i = 1, #leased, 2 do
  if known[leased[i]] == leased[i + 1] then
    missing = missing - 1
  elseif tonumber(leased[i + 1]) <= answered then
    lost[#lost + 1] = {leased[i], tonumber(leased[i + 1])}
  end
end
local all, fingerprints, stands = call('HGETALL', T .. ':hand:' .. session), {}, {}
for i = 1, #all, 2 do
  if not in_hand[all[i]] and cmsgpack.unpack(all[i + 1])[4] <= answered then
    fingerprints[#fingerprints + 1] = all[i]
  end
end
for _, entry in ipairs(give_back(session, fingerprints)) do stands[entry[3]] = true end
for host in pairs(stands) do stand_all(host) end
for i, each in ipairs(lost) do
  local told = about(each[1])
  told[8] = each[2]
  passed[i] = told
end
return {missing, passed}
