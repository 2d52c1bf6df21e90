-- want: error there is no 'getmetatable'
-- within: 130 ms
getmetatable('').__index = function() return 1 end
