#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <microhttpd.h>

/* Keeps percent signs as they came: decoded before it is split, a path with %2F in an id would be another path. */
static inline size_t cmicrohttpd_keep(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

/* MHD_start_daemon is variadic, which Swift does not import. Without key and certificate it speaks plain HTTP. */
static inline struct MHD_Daemon *cmicrohttpd_start(
    int listener, unsigned int connections, unsigned int per_address, size_t memory, unsigned int timeout,
    const char *key, const char *certificate, MHD_AccessHandlerCallback handler, MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback notify, void *context) {
  struct MHD_OptionItem tls[] = {
      {key ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, (void *)key},
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
      {MHD_OPTION_END, 0, NULL}};
  return MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (key ? MHD_USE_TLS : 0), 0, NULL, NULL, handler, context,
      MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
      per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_CONNECTION_TIMEOUT, timeout,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, cmicrohttpd_keep, NULL,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_NOTIFY_CONNECTION, notify, context, MHD_OPTION_ARRAY,
      tls, MHD_OPTION_END);
}

/* MHD_get_connection_info is variadic. -1 when it is not known. */
static inline int cmicrohttpd_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? (int)info->connect_fd : -1;
}

/* Its enumerations are closed for Swift, which then makes names of its own of their cases. */
static const enum MHD_Result cmicrohttpd_yes = MHD_YES;
static const enum MHD_Result cmicrohttpd_no = MHD_NO;
static const enum MHD_ValueKind cmicrohttpd_headers = MHD_HEADER_KIND;
static const enum MHD_ValueKind cmicrohttpd_query = MHD_GET_ARGUMENT_KIND;
static const enum MHD_ResponseMemoryMode cmicrohttpd_copy = MHD_RESPMEM_MUST_COPY;
static const enum MHD_ConnectionNotificationCode cmicrohttpd_started = MHD_CONNECTION_NOTIFY_STARTED;
