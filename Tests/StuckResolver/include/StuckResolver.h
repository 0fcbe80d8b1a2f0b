// Nothing: the library is preloaded, not called.
