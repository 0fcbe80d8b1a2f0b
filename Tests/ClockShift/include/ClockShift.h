// Has no declarations, because the library is preloaded.
