-- want: error there is no '_G' here
-- within: 130 ms
return _G
