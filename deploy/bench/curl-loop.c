/*
 * The yardstick for the curl engine: what a bare libcurl loop needs for the same pushes on the same machine.
 *
 *   cc -O2 -o curl-loop curl-loop.c -lcurl
 *   curl-loop URL CA_FILE JWT_FILE TOPIC PUSHES STREAMS
 *
 * One multi handle on curl_multi_socket_action and epoll, one HTTP/2 connection, at most STREAMS pushes on their way,
 * each to a token of its own, the body through READFUNCTION with a SEEKFUNCTION that refuses: the options of
 * Sources/PushTransport/Curl. It has no error handling to speak of: what fails is counted. Prints one line of JSON.
 */
#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

static const char body[] =
    "{\"aps\":{\"alert\":{\"title\":\"Hello\",\"body\":\"This is the body of a push, of the usual length or so\"},"
    "\"sound\":\"default\"},\"deeplink\":\"app://news/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}";

struct transfer {
  CURL *easy;
  size_t sent;
  char id[64];
  struct curl_slist node; /* apns-id; the tail is shared */
};

static CURLM *multi;
static int poller;
static long timeout = -1;
static const char *url;
static struct curl_slist *shared;
static long todo, started, accepted, failed;

static size_t read_body(char *buffer, size_t size, size_t count, void *data) {
  struct transfer *transfer = data;
  size_t left = sizeof body - 1 - transfer->sent;
  size_t now = left < size * count ? left : size * count;
  memcpy(buffer, body + transfer->sent, now);
  transfer->sent += now;
  return now;
}

static int refuse_seek(void *data, curl_off_t offset, int origin) {
  (void)data, (void)offset, (void)origin;
  return CURL_SEEKFUNC_FAIL;
}

static size_t drop_answer(char *buffer, size_t size, size_t count, void *data) {
  (void)buffer, (void)data;
  return size * count;
}

static int socket_changed(CURL *easy, curl_socket_t fd, int interest, void *data, void *watched) {
  (void)easy, (void)data;
  struct epoll_event event = {.data.fd = fd};
  if (interest == CURL_POLL_REMOVE) {
    epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
    return 0;
  }
  event.events = (interest & CURL_POLL_IN ? EPOLLIN : 0) | (interest & CURL_POLL_OUT ? EPOLLOUT : 0);
  epoll_ctl(poller, watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  curl_multi_assign(multi, fd, &poller);
  return 0;
}

static int timer_changed(CURLM *handle, long milliseconds, void *data) {
  (void)handle, (void)data;
  timeout = milliseconds;
  return 0;
}

static void start(struct transfer *transfer) {
  char path[256];
  uint64_t words[4], x = (uint64_t)started++ * 0x9e3779b97f4a7c15u + 1;
  for (int i = 0; i < 4; i++) words[i] = x = x * 6364136223846793005u + 1442695040888963407u;
  snprintf(path, sizeof path, "%s/3/device/%016llx%016llx%016llx%016llx", url, (unsigned long long)words[0],
           (unsigned long long)words[1], (unsigned long long)words[2], (unsigned long long)words[3]);
  snprintf(transfer->id, sizeof transfer->id, "apns-id: %08x-%04x-5%03x-8%03x-%012llx", (unsigned)(words[0] >> 32),
           (unsigned)(words[0] & 0xffff), (unsigned)(words[1] & 0xfff), (unsigned)(words[2] & 0xfff),
           (unsigned long long)(words[3] & 0xffffffffffffu));
  transfer->sent = 0;
  transfer->node.data = transfer->id;
  transfer->node.next = shared;
  curl_easy_setopt(transfer->easy, CURLOPT_URL, path);
  curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(sizeof body - 1));
  curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, &transfer->node);
  curl_multi_add_handle(multi, transfer->easy);
}

static void make(struct transfer *transfer, const char *authorities) {
  CURL *easy = transfer->easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 30000L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 1024L);
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
  curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_body);
  curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
  curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, refuse_seek);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop_answer);
}

/* Takes what has ended and starts as many anew; the first acceptance opens the connection for all of them. */
static void collect(struct transfer *transfers, long streams, const char *authorities, long *open) {
  CURLMsg *message;
  int left;
  long ended = 0;
  struct transfer *free_ones[1024];
  while ((message = curl_multi_info_read(multi, &left))) {
    struct transfer *transfer;
    long status = 0;
    CURL *easy = message->easy_handle;
    CURLcode code = message->data.result;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK && status == 200) accepted++;
    else failed++;
    curl_multi_remove_handle(multi, easy);
    if (code != CURLE_OK) { /* poisoned */
      curl_easy_cleanup(easy);
      make(transfer, authorities);
    }
    free_ones[ended++] = transfer;
  }
  while (ended > 0 && started < todo) start(free_ones[--ended]);
  while (accepted > 0 && *open < streams && started < todo) start(&transfers[(*open)++]);
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

int main(int count, char **argument) {
  if (count != 7) {
    fprintf(stderr, "usage: curl-loop URL CA_FILE JWT_FILE TOPIC PUSHES STREAMS\n");
    return 64;
  }
  url = argument[1];
  todo = atol(argument[5]);
  long streams = atol(argument[6]), open = 1;
  if (streams < 1 || streams > 1024) streams = 1000;
  char line[2048], jwt[1024] = "";
  FILE *file = fopen(argument[3], "r");
  if (!file || fscanf(file, "%1023s", jwt) != 1) {
    fprintf(stderr, "curl-loop: no token in %s\n", argument[3]);
    return 65;
  }
  fclose(file);
  snprintf(line, sizeof line, "authorization: bearer %s", jwt);
  shared = curl_slist_append(NULL, line);
  snprintf(line, sizeof line, "apns-topic: %s", argument[4]);
  curl_slist_append(shared, line);
  curl_slist_append(shared, "apns-push-type: alert");
  curl_slist_append(shared, "apns-priority: 10");
  curl_slist_append(shared, "apns-collapse-id: 0123456789abcdef0123456789abcdef");
  curl_slist_append(shared, "content-type:");
  curl_slist_append(shared, "accept:");
  curl_slist_append(shared, "expect:");

  curl_global_init(CURL_GLOBAL_DEFAULT);
  poller = epoll_create1(0);
  multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed);
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
  curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, streams);
  struct transfer *transfers = calloc((size_t)streams, sizeof *transfers);
  for (long i = 0; i < streams; i++) make(&transfers[i], argument[2]);

  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  start(&transfers[0]);
  while (accepted + failed < todo) {
    struct epoll_event events[8];
    int running, ready = epoll_wait(poller, events, 8, (int)timeout);
    if (ready == 0) curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    for (int i = 0; i < ready; i++) {
      int mask = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                 (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                 (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi, events[i].data.fd, mask, &running);
    }
    collect(transfers, streams, argument[2], &open);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double wall = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
  double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  printf("{\"what\":\"curl-loop\",\"libcurl\":\"%s\",\"streams\":%ld,\"pushes\":%ld,\"accepted\":%ld,\"failed\":%ld,"
         "\"seconds\":%.3f,\"pushesPerSecond\":%.0f,\"cpuMicrosPerPush\":%.2f}\n",
         curl_version_info(CURLVERSION_NOW)->version, streams, todo, accepted, failed, wall, (double)todo / wall,
         cpu * 1e6 / (double)todo);
  return failed ? 1 : 0;
}
