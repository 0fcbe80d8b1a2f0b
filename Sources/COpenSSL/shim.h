#include <openssl/ssl.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

// Each inline function replaces a macro or a variadic function that Swift can't import.

// SSL_OP_IGNORE_UNEXPECTED_EOF is SSL_OP_BIT(7).
static inline void carillon_ssl_ignore_unexpected_eof(SSL_CTX *ctx) {
  SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

// SSL_CTX_set_min_proto_version is a macro over SSL_CTX_ctrl.
static inline int carillon_ssl_require_tls12(SSL_CTX *ctx) {
  return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
}

// SSL_CTX_set_mode is a macro over SSL_CTX_ctrl.
static inline void carillon_ssl_allow_partial_writes(SSL_CTX *ctx) {
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

// SSL_CTX_set_read_ahead is a macro over SSL_CTX_ctrl.
static inline void carillon_ssl_read_ahead(SSL_CTX *ctx, size_t buffer) {
  SSL_CTX_set_read_ahead(ctx, 1);
  SSL_CTX_set_default_read_buffer_len(ctx, buffer);
}

// SSL_CTX_set_session_cache_mode is a macro over SSL_CTX_ctrl, and SSL_OP_NO_TICKET is SSL_OP_BIT(14).
static inline void carillon_ssl_never_resume(SSL_CTX *ctx) {
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(ctx, 0);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
}

// SSL_set_tlsext_host_name is a macro over SSL_ctrl.
static inline int carillon_ssl_set_server_name(SSL *ssl, const char *name) {
  return (int)SSL_set_tlsext_host_name(ssl, name);
}

// EVP_EC_gen is a macro over the variadic EVP_PKEY_Q_keygen.
static inline EVP_PKEY *carillon_new_p256_key(void) { return EVP_EC_gen("P-256"); }

// BIO_set_retry_read, BIO_set_retry_write and BIO_clear_retry_flags are macros.
static inline void carillon_bio_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void carillon_bio_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void carillon_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

// BIO_get_mem_data is a macro over BIO_ctrl.
static inline long carillon_bio_memory(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }

// STACK_OF(X509) is a macro, and so are the functions on it.
static inline X509 *carillon_certificates_take(STACK_OF(X509) *stack) { return sk_X509_shift(stack); }
static inline void carillon_certificates_free(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }

// The same applies to STACK_OF(ASN1_TYPE).
static inline STACK_OF(ASN1_TYPE) *carillon_elements_new(void) { return sk_ASN1_TYPE_new_null(); }
static inline int carillon_elements_count(STACK_OF(ASN1_TYPE) *stack) { return sk_ASN1_TYPE_num(stack); }
static inline ASN1_TYPE *carillon_element(STACK_OF(ASN1_TYPE) *stack, int index) {
  return sk_ASN1_TYPE_value(stack, index);
}
static inline int carillon_elements_push(STACK_OF(ASN1_TYPE) *stack, ASN1_TYPE *element) {
  return sk_ASN1_TYPE_push(stack, element);
}
static inline void carillon_elements_free(STACK_OF(ASN1_TYPE) *stack) { sk_ASN1_TYPE_pop_free(stack, ASN1_TYPE_free); }
