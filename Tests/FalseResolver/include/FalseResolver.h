// This header has no declarations, because the library is preloaded and not called.
