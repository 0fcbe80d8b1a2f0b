// Headers that Swift's Glibc module leaves out.
#include <stdbool.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/timex.h>

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

// Gives the calling thread the nice value 10, which is about a tenth of the weight of 0 (sched(7)). On Linux a nice value belongs
// to a thread (setpriority(2), "C library/kernel differences"); elsewhere it belongs to the process, so this does nothing.
static inline void carillon_lower_priority(void) {
#ifdef __linux__
  setpriority(PRIO_PROCESS, 0, 10);
#endif
}

// Whether the clock is kept right from outside: 1 or 0, and -1 where the system doesn't say. adjtimex(2) only reads with
// no mode set.
static inline int carillon_clock_is_kept(void) {
  struct timex time = {0};
  return adjtimex(&time) < 0 ? -1 : (time.status & STA_UNSYNC) == 0;
}

// glibc says since 2.41 (Debian 13) that the events can't be null, and Swift then asks for a pointer that is no optional; an
// older one's is. This takes either.
static inline int carillon_epoll_wait(int poll, struct epoll_event *events, int capacity, int milliseconds) {
  return epoll_wait(poll, events, capacity, milliseconds);
}

// Swift's runtime asks this before it puts a job on its global pool (swift/Runtime/Concurrency.h). Swift can't name a
// pointer of this calling convention.
typedef __attribute__((swiftcall)) void (*carillon_enqueue)(void *job);
extern __attribute__((swiftcall)) void (*swift_task_enqueueGlobal_hook)(void *job, carillon_enqueue original);

// A variable of the file itself would not be compiled into what includes this.
static inline bool (**carillon_taker(void))(void *job) {
  static bool (*taker)(void *job);
  return &taker;
}
static __attribute__((swiftcall)) void carillon_divert(void *job, carillon_enqueue original) {
  if (!(*carillon_taker())(job)) original(job);
}

// Has `take` asked first, which says whether it took the job. Called once, from one file: the pointer is that file's own.
static inline void carillon_divert_jobs(bool (*take)(void *job)) {
  *carillon_taker() = take;
  swift_task_enqueueGlobal_hook = carillon_divert;
}
