/* What libcurl costs by itself: the loop that a push engine on it can't do without, and nothing else.
 *
 *   curl-loop URL CA-FILE BEARER-FILE TOPIC TOKEN-FILE REQUESTS CONNECTIONS STREAMS
 *
 * One multi handle per connection, driven by epoll through curl_multi_socket_action, as the curl engine does it; the
 * body through a read function with a seek function that refuses, so that libcurl never sends a request again by itself.
 * Each request has a path and an apns-id of its own. Prints one JSON object. Exits 1 if an answer is not 200.
 *
 *   cc -O2 -o curl-loop curl-loop.c -lcurl
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_EVENTS 64

static const char payload[] = "{\"aps\":{\"alert\":{\"title\":\"Carillon\",\"body\":\"It rings.\"},\"sound\":\"default\"}}";

struct connection {
  CURLM *multi;
  int epoll;
  long deadline; /* ms, of libcurl's timer; -1 for none */
  int in_flight;
  int stream_limit; /* 1 until the first answer: APNs' own limit before it has seen a good token */
};

struct request {
  CURL *easy;
  struct connection *connection;
  size_t sent;
  char id_header[64];
  struct curl_slist first_header; /* apns-id; goes on with the headers all requests share */
};

static char **tokens;
static long token_count, to_do, started, done, failed;
static const char *base_url;
static struct curl_slist *shared_headers;

static void die(const char *what) {
  fprintf(stderr, "curl-loop: %s\n", what);
  exit(70);
}

static long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static double seconds_since(const struct timespec *then) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
  struct connection *connection = context;
  (void)easy;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(connection->epoll, EPOLL_CTL_DEL, socket, NULL);
    return 0;
  }
  struct epoll_event event = {0};
  event.data.fd = socket;
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  epoll_ctl(connection->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
  curl_multi_assign(connection->multi, socket, connection);
  return 0;
}

static int on_timer(CURLM *multi, long timeout, void *context) {
  struct connection *connection = context;
  (void)multi;
  connection->deadline = timeout < 0 ? -1 : milliseconds() + timeout;
  return 0;
}

static size_t on_read(char *buffer, size_t size, size_t count, void *context) {
  struct request *request = context;
  size_t left = sizeof payload - 1 - request->sent;
  size_t n = size * count < left ? size * count : left;
  memcpy(buffer, payload + request->sent, n);
  request->sent += n;
  return n;
}

/* libcurl sends a POST again by itself when a reused connection is reset; it can't when the body can't be rewound. */
static int on_seek(void *context, curl_off_t offset, int origin) {
  (void)context, (void)offset, (void)origin;
  return CURL_SEEKFUNC_FAIL;
}

static size_t on_write(char *data, size_t size, size_t count, void *context) {
  (void)data, (void)context;
  return size * count;
}

static CURL *make_easy(struct request *request, const char *ca_file) {
  CURL *easy = curl_easy_init();
  if (!easy) die("no easy handle");
  curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)(sizeof payload - 1));
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
  curl_easy_setopt(easy, CURLOPT_READDATA, request);
  curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
  return easy;
}

static void start(struct request *request) {
  char url[512];
  long number = started++;
  snprintf(url, sizeof url, "%s/3/device/%s", base_url, tokens[number % token_count]);
  snprintf(request->id_header, sizeof request->id_header, "apns-id: 00000000-0000-5000-8000-%012lx", number);
  request->first_header.data = request->id_header;
  request->first_header.next = shared_headers;
  request->sent = 0;
  curl_easy_setopt(request->easy, CURLOPT_URL, url);
  curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, &request->first_header);
  if (curl_multi_add_handle(request->connection->multi, request->easy) != CURLM_OK) die("curl_multi_add_handle");
  request->connection->in_flight++;
}

/* Takes the finished ones, and fills the connection again from its idle requests. */
static void turn(struct connection *connection, struct request **idle, int *idle_count) {
  CURLMsg *message;
  int left;
  while ((message = curl_multi_info_read(connection->multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    struct request *request;
    long status = 0;
    CURLcode code = message->data.result;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
    curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
    curl_multi_remove_handle(connection->multi, request->easy);
    /* After a failed transfer the handle is not to be used again, and the figure would mean nothing. */
    if (code != CURLE_OK) die(curl_easy_strerror(code));
    connection->in_flight--;
    done++;
    if (status == 200) {
      connection->stream_limit = 1 << 30;
    } else {
      failed++;
    }
    idle[(*idle_count)++] = request;
  }
  while (started < to_do && *idle_count > 0 && connection->in_flight < connection->stream_limit)
    start(idle[--*idle_count]);
}

static void read_tokens(const char *path) {
  FILE *file = fopen(path, "r");
  char line[512];
  if (!file) die("cannot open the token file");
  long room = 0;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\r\n")] = 0;
    if (token_count == room) {
      room = room ? room * 2 : 1024;
      tokens = realloc(tokens, (size_t)room * sizeof *tokens);
      if (!tokens) die("out of memory");
    }
    tokens[token_count++] = strdup(line);
  }
  fclose(file);
  if (token_count == 0) die("the token file is empty");
}

int main(int argc, char **argv) {
  if (argc != 9) {
    fprintf(stderr, "usage: curl-loop URL CA-FILE BEARER-FILE TOPIC TOKEN-FILE REQUESTS CONNECTIONS STREAMS\n");
    return 64;
  }
  base_url = argv[1];
  read_tokens(argv[5]);
  to_do = atol(argv[6]);
  int connections = atoi(argv[7]), streams = atoi(argv[8]);
  if (to_do < 1 || connections < 1 || streams < 1) die("REQUESTS, CONNECTIONS and STREAMS are at least 1");

  char bearer[2048], header[2200];
  FILE *file = fopen(argv[3], "r");
  if (!file || !fgets(bearer, sizeof bearer, file)) die("cannot read the bearer file");
  fclose(file);
  bearer[strcspn(bearer, "\r\n")] = 0;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  snprintf(header, sizeof header, "authorization: bearer %s", bearer);
  shared_headers = curl_slist_append(NULL, header);
  snprintf(header, sizeof header, "apns-topic: %s", argv[4]);
  curl_slist_append(shared_headers, header);
  curl_slist_append(shared_headers, "apns-push-type: alert");
  curl_slist_append(shared_headers, "apns-priority: 10");
  curl_slist_append(shared_headers, "apns-collapse-id: 0123456789abcdef0123456789abcdef");
  curl_slist_append(shared_headers, "content-type:"); /* curl's own form type is not for APNs */
  curl_slist_append(shared_headers, "expect:");

  struct connection *all = calloc((size_t)connections, sizeof *all);
  struct request *requests = calloc((size_t)connections * (size_t)streams, sizeof *requests);
  struct request **idle = calloc((size_t)connections * (size_t)streams, sizeof *idle);
  int *idle_count = calloc((size_t)connections, sizeof *idle_count);
  int outer = epoll_create1(0);
  if (!all || !requests || !idle || !idle_count || outer < 0) die("out of memory or descriptors");
  for (int c = 0; c < connections; c++) {
    struct connection *connection = &all[c];
    connection->multi = curl_multi_init();
    connection->epoll = epoll_create1(0);
    connection->deadline = -1;
    connection->stream_limit = 1;
    curl_multi_setopt(connection->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(connection->multi, CURLMOPT_SOCKETDATA, connection);
    curl_multi_setopt(connection->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(connection->multi, CURLMOPT_TIMERDATA, connection);
    curl_multi_setopt(connection->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_multi_setopt(connection->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)streams); /* 100 by default */
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (unsigned)c};
    epoll_ctl(outer, EPOLL_CTL_ADD, connection->epoll, &event);
    for (int s = 0; s < streams; s++) {
      struct request *request = &requests[c * streams + s];
      request->connection = connection;
      request->easy = make_easy(request, argv[2]);
      idle[c * streams + idle_count[c]++] = request;
    }
  }

  struct timespec begin;
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int c = 0; c < connections; c++) turn(&all[c], idle + c * streams, &idle_count[c]);
  while (done < to_do) {
    long now = milliseconds(), wait = 1000;
    int running;
    for (int c = 0; c < connections; c++) {
      if (all[c].deadline >= 0 && all[c].deadline <= now) {
        all[c].deadline = -1;
        curl_multi_socket_action(all[c].multi, CURL_SOCKET_TIMEOUT, 0, &running);
        turn(&all[c], idle + c * streams, &idle_count[c]);
      }
      if (all[c].deadline >= 0) {
        long left = all[c].deadline - milliseconds();
        if (left < wait) wait = left < 0 ? 0 : left;
      }
    }
    if (done >= to_do) break;
    struct epoll_event ready[MAX_EVENTS], events[MAX_EVENTS];
    int count = epoll_wait(outer, ready, MAX_EVENTS, (int)wait);
    for (int i = 0; i < count; i++) {
      int c = (int)ready[i].data.u32;
      int n = epoll_wait(all[c].epoll, events, MAX_EVENTS, 0);
      for (int e = 0; e < n; e++) {
        int mask = 0;
        if (events[e].events & (EPOLLIN | EPOLLHUP)) mask |= CURL_CSELECT_IN;
        if (events[e].events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
        if (events[e].events & EPOLLERR) mask |= CURL_CSELECT_ERR;
        curl_multi_socket_action(all[c].multi, events[e].data.fd, mask, &running);
      }
      turn(&all[c], idle + c * streams, &idle_count[c]);
    }
  }
  double seconds = seconds_since(&begin);
  getrusage(RUSAGE_SELF, &after);

  double cpu = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
               (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1e6;
  printf("{\"benchmark\":\"curl-loop\",\"libcurl\":\"%s\",\"requests\":%ld,\"notAccepted\":%ld,\"seconds\":%.3f,"
         "\"perSecond\":%.0f,\"cpuMicroseconds\":%.2f}\n",
         curl_version_info(CURLVERSION_NOW)->version, done, failed, seconds, (double)done / seconds, cpu * 1e6 / (double)done);

  for (int i = 0; i < connections * streams; i++) curl_easy_cleanup(requests[i].easy);
  for (int c = 0; c < connections; c++) curl_multi_cleanup(all[c].multi);
  return failed > 0;
}
