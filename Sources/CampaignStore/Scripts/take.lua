#!lua
return 1
