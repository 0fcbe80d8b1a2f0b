// Headers that Swift's Glibc module omits.
#include <stdbool.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/timex.h>

// Does nothing if the C library has no such settings (musl).
static inline void carillon_limit_heaps(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 2);
#endif
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

// Raises the limit of descriptors to the value of the unit in deploy/, if the system allows it. Never lowers the limit.
static inline void carillon_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 65536) return;
  limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Sets the nice value of the calling thread to 10, about a tenth of the weight of 0 (sched(7)). On Linux a nice value
// belongs to a thread (setpriority(2), "C library/kernel differences"). Elsewhere it belongs to the process, so this
// function does nothing.
static inline void carillon_lower_priority(void) {
#ifdef __linux__
  setpriority(PRIO_PROCESS, 0, 10);
#endif
}

// Returns 1 if an external source synchronises the clock, 0 if not, and -1 if the system doesn't report it. Without a mode,
// adjtimex(2) only reads.
static inline int carillon_clock_is_kept(void) {
  struct timex time = {0};
  return adjtimex(&time) < 0 ? -1 : (time.status & STA_UNSYNC) == 0;
}

// Since 2.41 (Debian 13) glibc declares the events as non-null, and Swift then requires a non-optional pointer. For older
// versions the pointer is optional. This function accepts both.
static inline int carillon_epoll_wait(int poll, struct epoll_event *events, int capacity, int milliseconds) {
  return epoll_wait(poll, events, capacity, milliseconds);
}

// Swift's runtime calls this hook before it puts a job on its global pool (swift/Runtime/Concurrency.h). Swift can't declare
// a pointer with this calling convention.
typedef __attribute__((swiftcall)) void (*carillon_enqueue)(void *job);
extern __attribute__((swiftcall)) void (*swift_task_enqueueGlobal_hook)(void *job, carillon_enqueue original);

// A static variable in a function, because a variable of this file would not be compiled into the including file.
static inline bool (**carillon_taker(void))(void *job) {
  static bool (*taker)(void *job);
  return &taker;
}
static __attribute__((swiftcall)) void carillon_divert(void *job, carillon_enqueue original) {
  if (!(*carillon_taker())(job)) original(job);
}

// Installs `take`, which is called first and returns whether it took the job. Called once, from one file, because the
// pointer belongs to that file.
static inline void carillon_divert_jobs(bool (*take)(void *job)) {
  *carillon_taker() = take;
  swift_task_enqueueGlobal_hook = carillon_divert;
}
