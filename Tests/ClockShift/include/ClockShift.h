// Nothing to call: the library is preloaded.
