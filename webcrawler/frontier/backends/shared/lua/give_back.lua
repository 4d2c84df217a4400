-- URLs that were not handed out are first again. session, number of their lease, fingerprints.
local fingerprints = {}
for i = 3, #ARGV do fingerprints[#fingerprints + 1] = ARGV[i] end
local hosts = {}
for _, entry in ipairs(give_back(ARGV[1], fingerprints, tonumber(ARGV[2]))) do
  hosts[entry[3]] = true
end
for host in pairs(hosts) do stand_all(host) end
return 1
