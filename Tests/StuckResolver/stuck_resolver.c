// Preloaded into a worker, this library never answers a request for a name that ends in ".stuck.example", like an
// unreachable name server. It creates the file STUCK_RESOLVER_ASKED at a request.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char suffix[] = ".stuck.example";

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  size_t length = node ? strlen(node) : 0;
  if (length >= sizeof suffix && strcmp(node + length - (sizeof suffix - 1), suffix) == 0) {
    const char *file = getenv("STUCK_RESOLVER_ASKED");
    if (file) close(open(file, O_CREAT | O_WRONLY, 0600));
    for (;;) pause();
  }
  int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
      (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
  return next(node, service, hints, result);
}
