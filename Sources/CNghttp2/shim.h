#include <nghttp2/nghttp2.h>

// nghttp2 has this function from 1.57 on, and Debian 12 carries it back to 1.52; elsewhere an older header doesn't
// declare it and an older library doesn't have it. Declared weak here, its address is null where it is missing.
__attribute__((weak)) void nghttp2_option_set_stream_reset_rate_limit(
    nghttp2_option *option, uint64_t burst, uint64_t rate);

// Libraries without the function have no limit to lift.
static inline void carillon_nghttp2_set_stream_reset_rate_limit(
    nghttp2_option *option, uint64_t burst, uint64_t rate) {
  if (nghttp2_option_set_stream_reset_rate_limit) {
    nghttp2_option_set_stream_reset_rate_limit(option, burst, rate);
  }
}
