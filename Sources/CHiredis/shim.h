#include <hiredis/hiredis.h>

/* redisReaderGetError is a macro with casts. Swift does not import it. */
static inline const char *chiredis_reader_error(const redisReader *reader) { return reader->errstr; }
