#include <curl/curl.h>

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, and Swift can't import variadic functions.
// There is one inline function for each type of argument that libcurl documents.

static inline CURLcode carillon_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode carillon_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode carillon_easy_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode carillon_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

// CURL_BLOB_NOCOPY: the caller owns the memory, and the memory must outlive the handle.
static inline CURLcode carillon_easy_set_blob(CURL *easy, CURLoption option, void *data, size_t length) {
  struct curl_blob blob = {data, length, CURL_BLOB_NOCOPY};
  return curl_easy_setopt(easy, option, &blob);
}

// CURLAUTH_BASIC and CURLAUTH_DIGEST are macros with a cast.
static inline CURLcode carillon_easy_set_proxy_auth(CURL *easy) {
  return curl_easy_setopt(easy, CURLOPT_PROXYAUTH, CURLAUTH_BASIC | CURLAUTH_DIGEST);
}

static inline CURLcode carillon_easy_set_debug(CURL *easy, curl_debug_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_DEBUGDATA, data);
}

static inline CURLcode carillon_easy_set_headers(CURL *easy, struct curl_slist *list) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}

static inline CURLcode carillon_easy_set_read(CURL *easy, curl_read_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_READDATA, data);
}

static inline CURLcode carillon_easy_set_seek(CURL *easy, curl_seek_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_SEEKDATA, data);
}

static inline CURLcode carillon_easy_set_write(CURL *easy, curl_write_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_WRITEDATA, data);
}

static inline CURLcode carillon_easy_set_header(CURL *easy, curl_write_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_HEADERDATA, data);
}

static inline CURLcode carillon_easy_set_open_socket(CURL *easy, curl_opensocket_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, data);
}

static inline CURLcode carillon_easy_set_close_socket(CURL *easy, curl_closesocket_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, data);
}

static inline CURLcode carillon_easy_set_tls_context(CURL *easy, curl_ssl_ctx_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, data);
}

static inline CURLcode carillon_easy_set_prerequest(CURL *easy, curl_prereq_callback callback, void *data) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
  return code ? code : curl_easy_setopt(easy, CURLOPT_PREREQDATA, data);
}

// CURLINFO_TLS_SSL_PTR: the transfer's `SSL *`. `ssl` is not changed without TLS or with another TLS library.
static inline CURLcode carillon_easy_get_openssl(CURL *easy, void **ssl) {
  struct curl_tlssessioninfo *session = 0;
  CURLcode code = curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session);
  if (!code && session && session->backend == CURLSSLBACKEND_OPENSSL) *ssl = session->internals;
  return code;
}

static inline CURLcode carillon_easy_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode carillon_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode carillon_easy_get_private(CURL *easy, void **value) {
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)value);
}

static inline CURLMcode carillon_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode carillon_multi_set_socket(CURLM *multi, curl_socket_callback callback, void *data) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return code ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, data);
}

static inline CURLMcode carillon_multi_set_timer(CURLM *multi, curl_multi_timer_callback callback, void *data) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return code ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, data);
}
