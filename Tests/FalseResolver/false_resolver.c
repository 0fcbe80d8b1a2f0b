// Preloaded into a worker, this library replaces the name server for two kinds of names. When one of these names is
// looked up, it creates the file whose path is in FALSE_RESOLVER_ASKED.
//
// - A request for a name that ends in ".stuck.example" is never answered.
// - "localhost" has the addresses of FALSE_RESOLVER_LOCALHOST, in this order, such as "::1,127.0.0.1".

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Resolve(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static const char suffix[] = ".stuck.example";

static void note(void) {
  const char *file = getenv("FALSE_RESOLVER_ASKED");
  if (file) close(open(file, O_CREAT | O_WRONLY, 0600));
}

// Joins the addresses of a comma-separated list. freeaddrinfo of glibc frees each member of a list on its own.
static int join(
    Resolve *next, const char *list, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  char address[64];
  struct addrinfo **end = result;
  for (int length; *list; list += length + (list[length] == ',')) {
    length = strcspn(list, ",");
    snprintf(address, sizeof address, "%.*s", length, list);
    int status = next(address, service, hints, end);
    if (status) return status;
    while (*end) end = &(*end)->ai_next;
  }
  return 0;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  size_t length = node ? strlen(node) : 0;
  if (length >= sizeof suffix && strcmp(node + length - (sizeof suffix - 1), suffix) == 0) {
    note();
    for (;;) pause();
  }
  Resolve *next = (Resolve *)dlsym(RTLD_NEXT, "getaddrinfo");
  const char *list = getenv("FALSE_RESOLVER_LOCALHOST");
  if (!list || !node || strcmp(node, "localhost") != 0) return next(node, service, hints, result);
  note();
  return join(next, list, service, hints, result);
}
