-- URLs are taken in hand by whoever leases their host. session, host, then queue and number.
local records = {}
if call('HGET', host_key(ARGV[2]), 'le') ~= ARGV[1] then return records end
for i = 3, #ARGV, 2 do
  for _, record in ipairs(take(ARGV[1], ARGV[2], ARGV[i], tonumber(ARGV[i + 1]), 0)) do
    records[#records + 1] = {tonumber(ARGV[i]), record}
  end
end
return records
