-- want: error read-only
-- within: 130 ms
table.insert(table, 1)
