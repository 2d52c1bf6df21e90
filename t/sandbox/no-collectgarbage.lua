-- want: error there is no 'collectgarbage' here
-- within: 130 ms
return collectgarbage
