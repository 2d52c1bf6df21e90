-- want: memory
-- within: 130 ms
-- No text is longer than 256 KiB: as a key it would be hashed in one piece.
local s = ('x'):rep(60000)
s = s .. s .. s .. s
local ok = pcall(function() return s .. s end)
if ok then error("a text of 480000 bytes") end
return s .. s
