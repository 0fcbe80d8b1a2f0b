#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <microhttpd.h>

/* Prevents percent-decoding: if a path were decoded before it is split, %2F in an id would change the path. */
static inline size_t cmicrohttpd_keep(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

/* Returns whether the library of this process parses requests strictly, as version 1.0 and later do. */
static inline int cmicrohttpd_is_strict(void) {
  return atoi(MHD_get_version()) >= 1;
}

/* From 1.0 on, level 1 refuses NUL, bare CR, bare LF, folded lines and blanks before a colon with 400. The only strict level
   of older versions closes the connection without an answer for a blank in the target. For them RequestFraming does the
   checks. */
#if MHD_VERSION >= 0x01000000
#define CMICROHTTPD_STRICT MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1
#else
#define CMICROHTTPD_STRICT MHD_OPTION_STRICT_FOR_CLIENT, cmicrohttpd_is_strict()
#endif

/* MHD_OPTION_URI_LOG_CALLBACK. */
typedef void *(*cmicrohttpd_begin)(void *context, const char *target, struct MHD_Connection *connection);

/* MHD_start_daemon is variadic, and Swift does not import it. Without key and certificate the server uses plain HTTP. */
static inline struct MHD_Daemon *cmicrohttpd_start(
    int listener, unsigned int connections, size_t memory, unsigned int timeout, const char *key, const char *certificate,
    cmicrohttpd_begin begin, MHD_AccessHandlerCallback handler, MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback notify, void *context) {
  struct MHD_OptionItem tls[] = {
      {key ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, (void *)key},
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
      {MHD_OPTION_END, 0, NULL}};
  return MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (key ? MHD_USE_TLS : 0), 0, NULL, NULL, handler, context,
      MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      memory, MHD_OPTION_CONNECTION_TIMEOUT, timeout, CMICROHTTPD_STRICT, MHD_OPTION_UNESCAPE_CALLBACK, cmicrohttpd_keep,
      NULL, MHD_OPTION_URI_LOG_CALLBACK, begin, context, MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, notify, context, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

/* Hides the query from libmicrohttpd's own parser. Called in MHD_OPTION_URI_LOG_CALLBACK, when the target is still unchanged
   in the connection's writable read buffer. Before 1.0, a query whose names don't fit in the connection's memory leaves the
   connection without an answer (parse_initial_message_line ignores the failure). We read the query from the target. */
static inline void cmicrohttpd_hide_query(const char *target) {
  char *mark = cmicrohttpd_is_strict() ? NULL : strchr((char *)target, '?');
  if (mark && mark[1]) mark[1] = '\0';
}

/* MHD_get_connection_info is variadic. Returns the bytes of the request's head from the method on; 0 if unknown. */
static inline size_t cmicrohttpd_head_size(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info ? info->header_size : 0;
}

/* MHD_get_connection_info is variadic. Returns -1 if the descriptor is unknown. */
static inline int cmicrohttpd_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? (int)info->connect_fd : -1;
}

/* Swift imports these enumerations as closed ones and renames their cases. The constants keep the names. */
static const enum MHD_Result cmicrohttpd_yes = MHD_YES;
static const enum MHD_Result cmicrohttpd_no = MHD_NO;
static const enum MHD_ValueKind cmicrohttpd_headers = MHD_HEADER_KIND;
static const enum MHD_ResponseMemoryMode cmicrohttpd_copy = MHD_RESPMEM_MUST_COPY;
static const enum MHD_ConnectionNotificationCode cmicrohttpd_started = MHD_CONNECTION_NOTIFY_STARTED;
