#include <nghttp2/nghttp2.h>

// nghttp2 has this function from 1.57 on, and Debian 12 has a backport in 1.52. Other older versions lack it in the header
// and in the library. With this weak declaration its address is null if it is missing.
__attribute__((weak)) void nghttp2_option_set_stream_reset_rate_limit(
    nghttp2_option *option, uint64_t burst, uint64_t rate);

// A library without the function has no such limit.
static inline void carillon_nghttp2_set_stream_reset_rate_limit(
    nghttp2_option *option, uint64_t burst, uint64_t rate) {
  if (nghttp2_option_set_stream_reset_rate_limit) {
    nghttp2_option_set_stream_reset_rate_limit(option, burst, rate);
  }
}
