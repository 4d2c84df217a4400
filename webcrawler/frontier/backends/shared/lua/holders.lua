-- Who ended these URLs: the number at the head of a page's row, 0 for none. fingerprints.
local found = {}
for i, row in ipairs(call('HMGET', T .. ':pages', unpack(ARGV))) do
  found[i] = row and string.byte(row, 1) + 256 * string.byte(row, 2) or 0
end
return found
