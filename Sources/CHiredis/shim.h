#include <hiredis/hiredis.h>

/* redisReaderGetError is a macro with casts, which Swift does not import. */
static inline const char *chiredis_reader_error(const redisReader *reader) { return reader->errstr; }
