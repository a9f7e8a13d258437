/* policy.h - rules over code, looked at before it runs: languages, size, imports, commands, paths. A first line that stops accidents and says why; what holds is the sandbox. */
#ifndef INTERP_LIB_POLICY_H
#define INTERP_LIB_POLICY_H
#include "base/json.h"

struct interp__policy;                             /* immutable, shared */
interp_status interp__policy_new(const struct interp__mem *m, const struct interp__json *j, uint32_t node, struct interp__policy **out, interp_error **err);
struct interp__policy *interp__policy_ref(struct interp__policy *p);
void interp__policy_unref(struct interp__policy *p);
const char *interp__policy_json(const struct interp__policy *p);   /* what it was made from */

struct interp__verdict { const char *rule; uint32_t line; char what[128], reason[512]; };   /* rule: static; line 0: none. The texts are UTF-8 */
/* 0: no rule has anything against it; 1: denied, *v says why; -1: no memory. */
int interp__policy_check(const struct interp__policy *p, const char *language, const void *code, size_t n, struct interp__verdict *v);
#endif
