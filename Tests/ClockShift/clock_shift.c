// Preloaded into a worker, this library sets its wall clock CLOCK_SHIFT_SECONDS ahead (behind, if negative), like a
// wrong clock. It does not change timers. libfaketime is not usable here: it also replaces timerfd_settime and mistakes
// the monotonic times of Dispatch for wall-clock times, so a worker's timers never fire.

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shift(void) {
  const char *seconds = getenv("CLOCK_SHIFT_SECONDS");
  return seconds ? atol(seconds) : 0;
}

// Calls the kernel directly, because looking up libc's own function may itself read the time.
int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int result = (int)syscall(SYS_gettimeofday, now, zone);
  if (result == 0) now->tv_sec += shift();
  return result;
}

time_t time(time_t *place) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (place) *place = now.tv_sec;
  return now.tv_sec;
}
