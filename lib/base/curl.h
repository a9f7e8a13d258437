/* curl.h - libcurl, opened at first use, so that a host without container engines needs none. The soname has been the same since 2006. */
#ifndef INTERP_LIB_BASE_CURL_H
#define INTERP_LIB_BASE_CURL_H
#define CURL_DISABLE_TYPECHECK          /* its checks are macros around the names */
#include <curl/curl.h>

#define INTERP__CURL_FUNCTIONS(F) \
    F(global_init) F(easy_init) F(easy_cleanup) F(easy_reset) F(easy_setopt) F(easy_getinfo) F(easy_send) F(easy_recv) F(easy_strerror) \
    F(multi_init) F(multi_cleanup) F(multi_add_handle) F(multi_remove_handle) F(multi_setopt) F(multi_socket_action) F(multi_info_read) \
    F(slist_append) F(slist_free_all)

struct interp__curl {
#define F(name) __typeof__(&curl_##name) name;
    INTERP__CURL_FUNCTIONS(F)
#undef F
};

/* The functions; NULL when there is no libcurl, with the reason in *why (static). Any thread. */
const struct interp__curl *interp__curl(const char **why);
#endif
