-- want: error there is no 'package' here
-- within: 130 ms
return package
