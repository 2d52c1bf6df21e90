-- want: error attempt to compare
-- within: 130 ms
table.sort({ 1, 'a', {} })
