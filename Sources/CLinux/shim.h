// Headers that Swift's Glibc module leaves out.
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

// Where they mean nothing (musl has no such knobs) this does nothing.
static inline void carillon_limit_heaps(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 2);
#endif
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

// As many descriptors as the unit in deploy/ allows, if the system does; what is allowed already stays allowed.
static inline void carillon_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 65536) return;
  limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// glibc says since 2.41 (Debian 13) that the events can't be null, and Swift then asks for a pointer that is no optional; an
// older one's is. This takes either.
static inline int carillon_epoll_wait(int poll, struct epoll_event *events, int capacity, int milliseconds) {
  return epoll_wait(poll, events, capacity, milliseconds);
}
