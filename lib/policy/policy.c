/* policy.c - the rules: from JSON, and what they say about a piece of code */
#include "policy.h"
#include "base/error.h"
#include "scan.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 1024, NAME_BYTES = 256 };

struct names { char **p; uint32_t n; uint8_t set; };
struct rule { struct names allow, deny; };
struct interp__policy {
    struct interp__mem mem;
    atomic_uint refs;
    struct names languages;
    uint64_t code_bytes;
    struct rule imports[2], commands, paths;       /* imports: of python, javascript */
    int deny_dynamic;
    char *json;
};

struct interp__policy *interp__policy_ref(struct interp__policy *p)
{
    if (p)
        atomic_fetch_add(&p->refs, 1);
    return p;
}
static void names_free(const struct interp__mem *m, struct names *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        interp__free(m, l->p[i]);
    interp__free(m, l->p);
}
void interp__policy_unref(struct interp__policy *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    struct names *all[] = { &p->languages, &p->imports[0].allow, &p->imports[0].deny, &p->imports[1].allow, &p->imports[1].deny, &p->commands.allow, &p->commands.deny, &p->paths.allow, &p->paths.deny };
    struct interp__mem m = p->mem;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        names_free(&m, all[i]);
    interp__free(&m, p->json);
    interp__free(&m, p);
}
const char *interp__policy_json(const struct interp__policy *p)
{
    return p->json;
}

/* ---- from JSON */

/* Lexically: no //, no ., no .. that has something to go up from. n, at most n. */
static size_t normalise(char *to, const char *p, size_t n)
{
    size_t len = 0;
    for (size_t i = 0; i < n;) {
        while (i < n && p[i] == '/')
            i++;
        size_t from = i;
        while (i < n && p[i] != '/')
            i++;
        size_t k = i - from;
        if (!k || (k == 1 && p[from] == '.'))
            continue;
        if (k == 2 && p[from] == '.' && p[from + 1] == '.') {
            while (len && to[--len] != '/')
                ;
            continue;
        }
        to[len++] = '/';
        memmove(to + len, p + from, k);
        len += k;
    }
    if (!len)
        to[len++] = '/';
    return len;
}

static interp_status names(const struct interp__mem *m, struct names *l, const struct interp__json *j, uint32_t node, const char *where, const char *key, interp_error **err)
{
    const struct interp__json_node *a = interp__json_at(j, node);
    if (l->set)
        return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy.%s%s is given twice", where, key);
    if (a->type != INTERP__JSON_ARRAY || a->count > NAMES_MAX)
        return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy.%s%s must be a list of at most %d names", where, key, NAMES_MAX);
    if (!(l->p = interp__alloc(m, (a->count + 1) * sizeof *l->p)))
        return interp__nomem(err);
    l->set = 1;
    uint32_t i = node + 1;
    for (uint32_t k = 0; k < a->count; k++) {
        const struct interp__json_node *n = interp__json_at(j, i);
        const char *v = interp__json_string(j, n);
        if (n->type != INTERP__JSON_STRING || !n->text_len || n->text_len > NAME_BYTES || strlen(v) != n->text_len)
            return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy.%s%s[%u] must be a text of 1 to %d bytes", where, key, k, NAME_BYTES);
        if (!strncmp(where, "paths", 5) && v[0] != '/')
            return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy.%s%s[%u] is \"%.64s\"; a path prefix begins with /", where, key, k, v);
        if (!(l->p[l->n] = interp__strndup(m, v, n->text_len)))
            return interp__nomem(err);
        if (!strncmp(where, "paths", 5))
            l->p[l->n][normalise(l->p[l->n], v, n->text_len)] = 0;
        l->n++;
        i = n->next;
    }
    return INTERP_OK;
}

static interp_status rule(const struct interp__mem *m, struct rule *r, const struct interp__json *j, uint32_t node, const char *where, interp_error **err)
{
    const struct interp__json_node *o = interp__json_at(j, node);
    if (o->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy.%.*s must be an object with allow or deny", (int)strlen(where) - 1, where);
    uint32_t i = node + 1;
    for (uint32_t k = 0; k < o->count; k++) {
        const struct interp__json_node *n = interp__json_at(j, i);
        const char *key = interp__json_key(j, n);
        struct names *l = !strcmp(key, "allow") ? &r->allow : !strcmp(key, "deny") ? &r->deny : NULL;
        if (!l)
            return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy.%s%.64s: there are only allow and deny", where, key);
        interp_status st = names(m, l, j, i, where, key, err);
        if (st)
            return st;
        i = n->next;
    }
    return INTERP_OK;
}

static interp_status imports(struct interp__policy *p, const struct interp__json *j, uint32_t node, interp_error **err)
{
    const struct interp__json_node *o = interp__json_at(j, node);
    uint32_t python = o->type == INTERP__JSON_OBJECT ? interp__json_member(j, node, "python") : 0, javascript = o->type == INTERP__JSON_OBJECT ? interp__json_member(j, node, "javascript") : 0;
    if (!python && !javascript) {   /* one list for both */
        interp_status st = rule(&p->mem, &p->imports[0], j, node, "imports.", err);
        return st ? st : rule(&p->mem, &p->imports[1], j, node, "imports.", err);
    }
    if (o->count != (uint32_t)(python != 0) + (javascript != 0))
        return interp__fail(&p->mem, err, INTERP_E_INVAL, "policy", "policy.imports has allow and deny, or python and javascript with those");
    interp_status st = python ? rule(&p->mem, &p->imports[0], j, python, "imports.python.", err) : INTERP_OK;
    return st || !javascript ? st : rule(&p->mem, &p->imports[1], j, javascript, "imports.javascript.", err);
}

static interp_status member(struct interp__policy *p, const struct interp__json *j, uint32_t i, const char *key, interp_error **err)
{
    const struct interp__mem *m = &p->mem;
    const struct interp__json_node *n = interp__json_at(j, i);
    if (!strcmp(key, "languages"))
        return names(m, &p->languages, j, i, "", key, err);
    if (!strcmp(key, "imports"))
        return imports(p, j, i, err);
    if (!strcmp(key, "commands"))
        return rule(m, &p->commands, j, i, "commands.", err);
    if (!strcmp(key, "paths"))
        return rule(m, &p->paths, j, i, "paths.", err);
    if (!strcmp(key, "code_bytes")) {
        if (n->type != INTERP__JSON_INT || n->i < 1)
            return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy.code_bytes must be a whole number above 0");
        p->code_bytes = (uint64_t)n->i;
        return INTERP_OK;
    }
    if (!strcmp(key, "dynamic")) {
        const char *v = interp__json_string(j, n);
        if (n->type != INTERP__JSON_STRING || (strcmp(v, "allow") != 0 && strcmp(v, "deny") != 0))
            return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy.dynamic must be \"allow\" or \"deny\"");
        p->deny_dynamic = v[0] == 'd' ? 1 : -1;
        return INTERP_OK;
    }
    return interp__fail(m, err, INTERP_E_INVAL, "policy", "policy has no member \"%.64s\": there are languages, code_bytes, imports, commands, paths, dynamic", key);
}

interp_status interp__policy_new(const struct interp__mem *m, const struct interp__json *j, uint32_t node, struct interp__policy **out, interp_error **err)
{
    const struct interp__json_node *o = interp__json_at(j, node);
    if (o->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "policy", "a policy must be a JSON object");
    struct interp__policy *p = interp__alloc(m, sizeof *p);
    if (!p)
        return interp__nomem(err);
    p->mem = *m;
    atomic_init(&p->refs, 1);
    uint32_t i = node + 1;
    for (uint32_t k = 0; k < o->count; k++) {
        const struct interp__json_node *n = interp__json_at(j, i);
        interp_status st = member(p, j, i, interp__json_key(j, n), err);
        if (st) {
            interp__policy_unref(p);
            return st;
        }
        i = n->next;
    }
    struct interp__buf text;
    interp__buf_init(&text, m);
    interp__json_write(&text, j, node);
    p->json = text.bad ? NULL : interp__strndup(m, text.p, text.len);
    interp__buf_free(&text);
    if (!p->json) {
        interp__policy_unref(p);
        return interp__nomem(err);
    }
    *out = p;
    return INTERP_OK;
}

/* ---- checking */

enum match { MATCH_MODULE, MATCH_PATH, MATCH_COMMAND };
static int matches(const char *rule_name, const char *p, size_t n, enum match how)
{
    size_t k = strlen(rule_name);
    if (how == MATCH_PATH && k == 1)   /* "/" */
        return 1;
    if (n < k || memcmp(p, rule_name, k) != 0)
        return 0;
    return n == k || (how == MATCH_MODULE && (p[k] == '.' || p[k] == '/')) || (how == MATCH_PATH && p[k] == '/');
}
static int listed(const struct names *l, const char *p, size_t n, enum match how)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (matches(l->p[i], p, n, how))
            return 1;
    return 0;
}

struct check { const struct interp__policy *p; int lang; struct interp__verdict *v; };   /* lang: 0 python, 1 javascript, 2 shell */

static void what(struct interp__verdict *v, const char *p, size_t n)
{
    size_t len = 0, most = n < sizeof v->what ? n : sizeof v->what - 32;
    for (size_t i = 0; i < most; i++)   /* it goes into texts: printable ASCII */
        v->what[len++] = p[i] >= 0x20 && p[i] < 0x7F ? p[i] : '?';
    if (n > len)
        len += (size_t)snprintf(v->what + len, 32, "... [%zu more]", n - len);   /* as drivers say it: redaction knows that there is a cut */
    v->what[len] = 0;
}
static void allowed_list(char *to, size_t size, const struct names *l)
{
    size_t n = 0;
    to[0] = 0;
    for (uint32_t i = 0; i < l->n && n + 40 < size; i++)
        n += (size_t)snprintf(to + n, size - n, "%s%.32s", i ? ", " : "", l->p[i]);
    if (!l->n)
        snprintf(to, size, "none");
    else if (n + 40 >= size)
        snprintf(to + (n < size - 5 ? n : size - 5), 5, ", ..");
}
static int deny(struct check *c, const char *rule_name, const struct rule *r, const char *noun, const char *p, size_t n, uint32_t line, int is_denied)
{
    char list[200];
    struct interp__verdict *v = c->v;
    v->rule = rule_name;
    v->line = line;
    what(v, p, n);
    allowed_list(list, sizeof list, &r->allow);
    if (is_denied || !r->allow.set)
        snprintf(v->reason, sizeof v->reason, "Not run: %s \"%s\" (line %u) is not allowed here. Do it another way.", noun, v->what, line);
    else
        snprintf(v->reason, sizeof v->reason, "Not run: %s \"%s\" (line %u) is not among those allowed here: %s. Use one of these, or do it another way.", noun, v->what, line, list);
    return 1;
}
static int unclear(struct check *c, const char *rule_name, const char *why, const char *p, size_t n, uint32_t line)
{
    struct interp__verdict *v = c->v;
    v->rule = rule_name;
    v->line = line;
    what(v, p, n);
    snprintf(v->reason, sizeof v->reason, "Not run: \"%s\" (line %u) %s. Write it out plainly.", v->what, line, why);
    return 1;
}

static int import(struct check *c, const char *p, size_t n, uint32_t line)
{
    const struct rule *r = &c->p->imports[c->lang];
    if (n > 5 && c->lang == 1 && !memcmp(p, "node:", 5))
        p += 5, n -= 5;
    int denied = listed(&r->deny, p, n, MATCH_MODULE);
    if (!denied && !r->deny.n && !r->allow.set)
        return 0;
    if (denied || (r->allow.set && !listed(&r->allow, p, n, MATCH_MODULE)))
        return deny(c, "imports", r, "the import of", p, n, line, denied);
    return 0;
}

/* Builtins that run nothing but themselves: an allow-list need not name them. */
static int harmless(const char *p, size_t n)
{
    static const char *const names_of[] = { ":", "[", "[[", "break", "cd", "continue", "declare", "dirs", "echo", "exit", "export", "false", "getopts", "hash", "history", "jobs", "let", "local", "popd", "printf", "pushd", "pwd",
                                            "read", "readonly", "return", "set", "shift", "shopt", "test", "times", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait" };
    for (size_t i = 0; i < sizeof names_of / sizeof *names_of; i++)
        if (strlen(names_of[i]) == n && !memcmp(p, names_of[i], n))
            return 1;
    return 0;
}
/* perhaps: one that need not be listed to be allowed */
static int command(struct check *c, const char *p, size_t n, uint32_t line, int perhaps)
{
    const struct rule *r = &c->p->commands;
    const char *slash = n ? memrchr(p, '/', n) : NULL, *base = slash ? slash + 1 : p;
    size_t len = (size_t)(p + n - base);
    if (!r->deny.n && !r->allow.set)
        return 0;
    int denied = listed(&r->deny, p, n, MATCH_COMMAND) || listed(&r->deny, base, len, MATCH_COMMAND);
    /* a path is as good as the name where programs of the system are */
    static const char *const homes[] = { "/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/" };
    int system = !slash;
    for (size_t i = 0; i < sizeof homes / sizeof *homes && slash; i++)
        system |= (size_t)(base - p) == strlen(homes[i]) && !memcmp(p, homes[i], (size_t)(base - p));
    int allowed = perhaps || !r->allow.set || listed(&r->allow, p, n, MATCH_COMMAND) || (system && (listed(&r->allow, base, len, MATCH_COMMAND) || (!slash && harmless(p, n))));
    return denied || !allowed ? deny(c, "commands", r, "the command", p, n, line, denied) : 0;
}

/* Whether what begins so, and ends in a way that only its run knows, could be below a prefix. */
static int could_be(const struct names *l, const char *p, size_t n)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strlen(l->p[i]) >= n && !memcmp(l->p[i], p, n))
            return 1;
    return 0;
}
static int dynamic_denied(const struct check *c, const struct rule *r)
{
    return c->p->deny_dynamic > 0 || (!c->p->deny_dynamic && r->allow.set);
}
static int path(struct check *c, const char *p, size_t n, uint32_t line)
{
    const struct rule *r = &c->p->paths;
    char text[2048];
    if ((!r->deny.n && !r->allow.set) || !n)
        return 0;
    int absolute = p[0] == '/', home = p[0] == '~' && (n == 1 || p[1] == '/'), up = 0;
    for (size_t i = 0; i + 1 < n && !up; i++)
        up = p[i] == '.' && p[i + 1] == '.' && (i == 0 || p[i - 1] == '/') && (i + 2 == n || p[i + 2] == '/');
    if (!absolute && !home && !up)
        return 0;
    if (n > sizeof text - 64) {
        for (size_t i = 0; i < n; i++)
            if (p[i] && (unsigned char)p[i] < 0x20)
                return 0;   /* a text, no path */
        return unclear(c, "paths", "is a path too long to be looked at", p, n, line);
    }
    /* what is relative begins in the workspace, the home is a directory beside it */
    const char *before = absolute ? "" : home ? "/home/user/" : "/workspace/";
    size_t k = strlen(before), skip = home ? 1 : 0;
    memcpy(text, before, k);
    memcpy(text + k, p + skip, n - skip);
    k = normalise(text, text, k + n - skip);
    const char *hole = memchr(text, 0, k);   /* what follows is known at run time only */
    size_t known = hole ? (size_t)(hole - text) : k;
    size_t whole = known;              /* of its last part only the beginning is known: below what is allowed are the parts before */
    while (hole && whole && text[whole - 1] != '/')
        whole--;
    whole -= hole && whole > 1;
    int below = listed(&r->deny, text, known, MATCH_PATH), allowed = !r->allow.set || listed(&r->allow, text, whole, MATCH_PATH);
    if (hole && !below && (could_be(&r->deny, text, known) || (!allowed && could_be(&r->allow, text, known))))
        return dynamic_denied(c, r) ? unclear(c, "paths", "is a path that is known only when it runs, which can't be checked", p, n, line) : 0;
    return below || !allowed ? deny(c, "paths", r, "the path", p, n, line, below) : 0;
}

static int take(void *userdata, enum policy_kind kind, const char *p, size_t n, uint32_t line)
{
    struct check *c = userdata;
    const struct rule *names_of = c->lang == 2 ? &c->p->commands : &c->p->imports[c->lang];
    const char *rule_name = c->lang == 2 ? "commands" : "imports";
    int any = names_of->allow.set || names_of->deny.n, dynamic = dynamic_denied(c, names_of);
    switch (kind) {
    case POLICY_IMPORT:
        return import(c, p, n, line);
    case POLICY_COMMAND:
        return command(c, p, n, line, 0);
    case POLICY_PERHAPS_COMMAND:
        return command(c, p, n, line, 1);
    case POLICY_PATH:
        return path(c, p, n, line);
    case POLICY_DYNAMIC:
        return any && dynamic ? unclear(c, rule_name, "loads or makes code whose name is known only when it runs, which can't be checked", p, n, line) : 0;
    case POLICY_DYNAMIC_COMMAND:
        return any && dynamic ? unclear(c, rule_name, "runs a command that is known only when it runs, which can't be checked", p, n, line) : 0;
    default:
        return any || c->p->paths.allow.set || c->p->paths.deny.n ? unclear(c, any ? rule_name : "paths", "can't be read with certainty", p, n, line) : 0;
    }
}

int interp__policy_check(const struct interp__policy *p, const char *language, const void *code, size_t n, struct interp__verdict *v)
{
    struct check c = { p, 0, v };
    char list[200];
    memset(v, 0, sizeof *v);
    if (p->languages.set && !listed(&p->languages, language, strlen(language), MATCH_COMMAND)) {
        v->rule = "languages";
        what(v, language, strlen(language));
        allowed_list(list, sizeof list, &p->languages);
        snprintf(v->reason, sizeof v->reason, "Not run: the language \"%s\" is not allowed here. Use one of: %s.", v->what, list);
        return 1;
    }
    if (p->code_bytes && n > p->code_bytes) {
        v->rule = "code_bytes";
        snprintf(v->what, sizeof v->what, "%zu", n);
        snprintf(v->reason, sizeof v->reason, "Not run: the code has %zu bytes; at most %" PRIu64 " are allowed. Split it, or put data into a file.", n, p->code_bytes);
        return 1;
    }
    if (!n)
        code = "";
    if (!strcmp(language, "python"))
        return interp__scan_python(&p->mem, code, n, 1, take, &c);
    if (!strcmp(language, "javascript") || !strcmp(language, "typescript")) {
        c.lang = 1;
        return interp__scan_javascript(&p->mem, code, n, 1, take, &c);
    }
    if (!strcmp(language, "bash") || !strcmp(language, "sh")) {
        c.lang = 2;
        return interp__scan_shell(&p->mem, code, n, 1, language[0] == 'b', take, &c);
    }
    return 0;
}
