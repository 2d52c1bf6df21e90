-- want: error there is no '_VERSION' here
-- within: 130 ms
return _VERSION
