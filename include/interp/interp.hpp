// interp.hpp - the library for C++17: objects that own their handles and can be moved, not copied; views instead of copies; lambdas for events. Header only.
// SPDX-License-Identifier: MIT
//
// What can fail has two forms. With an `error &` as its last argument it never throws: it returns an empty object or false, and the error says why. Without one it throws
// interp::failure, and is there only where the compiler has exceptions. What code in a sandbox does is no failure: see result::ok().
//
// A moved-from or empty object is false; its getters give what the C functions give for NULL. Thread classes are those of the C functions (base.h): result and error any thread,
// cancel::fire any thread and signal handler, the others one thread at a time. Texts are borrowed from the object that gives them.
// Names that would be macros somewhere are not used: out() and err(), not stdout and stderr.
#ifndef INTERP_INTERP_HPP
#define INTERP_INTERP_HPP
#include <cstdint>
#include <functional>
#include <interp/interp.h>
#include <memory>
#include <string_view>
#include <utility>
#if defined(__cpp_exceptions)
#  include <stdexcept>
#  include <string>
#endif

namespace interp {
// Programs built with headers of different versions do not mix their classes up.
inline namespace v0_1 {

namespace detail {
template <class T, void (*Free)(T *)> struct deleter {
    void operator()(T *p) const noexcept { Free(p); }
};
inline void close_session(interp_session *s) noexcept { interp_session_close(s); }

template <class T, void (*Free)(T *)> class handle {
public:
    handle() noexcept = default;
    explicit handle(T *p) noexcept : p_(p) {}
    explicit operator bool() const noexcept { return p_ != nullptr; }
    /// The C handle; still owned.
    T *get() const noexcept { return p_.get(); }
    /// The C handle, which is the caller's from now on.
    T *release() noexcept { return p_.release(); }
    void reset() noexcept { p_.reset(); }

protected:
    std::unique_ptr<T, deleter<T, Free>> p_;
};

template <class F, class... A> std::string_view view(F f, A... a) noexcept
{
    std::size_t n = 0;
    auto p = f(a..., &n);
    return p ? std::string_view(static_cast<const char *>(static_cast<const void *>(p)), n) : std::string_view();
}
}  // namespace detail

/// Why a function failed. Immutable.
class error : public detail::handle<interp_error, interp_error_free> {
public:
    using handle::handle;
    interp_status code() const noexcept { return interp_error_code(get()); }
    std::string_view reason() const noexcept { return interp_error_reason(get()); }
    std::string_view message() const noexcept { return interp_error_message(get()); }
    std::string_view remedy() const noexcept { return interp_error_remedy(get()); }
    bool retryable() const noexcept { return interp_error_retryable(get()) != 0; }
    int system_error() const noexcept { return interp_error_errno(get()); }
    std::string_view json() const noexcept { return detail::view(interp_error_json, get()); }
};

#if defined(__cpp_exceptions)
/// What the forms without an `error &` throw.
class failure : public std::runtime_error {
public:
    explicit failure(error e) : std::runtime_error(text(e)), error_(std::make_shared<error>(std::move(e))) {}
    const error &why() const noexcept { return *error_; }
    interp_status code() const noexcept { return error_->code(); }

private:
    static std::string text(const error &e)
    {
        std::string t(e.message());
        return e.remedy().empty() ? t : t + " (" + std::string(e.remedy()) + ")";
    }
    std::shared_ptr<const error> error_;   // an exception must be copyable
};
#endif

namespace detail {
/// Runs a C function that ends with (..., interp_error **); true when it did not fail.
template <class F> bool done(error &e, F &&f) noexcept
{
    interp_error *raw = nullptr;
    bool ok = f(&raw) >= 0;
    e = error(raw);
    return ok;
}
#if defined(__cpp_exceptions)
template <class F> auto must(F &&f)
{
    error e;
    auto made = f(e);
    if (!made)
        throw failure(std::move(e));
    return made;
}
#endif
}  // namespace detail

/// What an exec came to. Immutable, any thread, outlives session and context.
class result : public detail::handle<interp_result, interp_result_free> {
public:
    using handle::handle;
    /// One part of the value or of a display.
    struct part_view {
        std::string_view mime, data;
        std::uint32_t bundle;
    };
    /// The test for success.
    bool ok() const noexcept { return interp_result_ok(get()) != 0; }
    std::int32_t outcome() const noexcept { return interp_result_outcome(get()); }
    std::string_view outcome_name() const noexcept { return interp_result_outcome_name(get()); }
    std::string_view cause() const noexcept { return interp_result_cause(get()); }
    std::int32_t state() const noexcept { return interp_result_state(get()); }
    std::int32_t ran() const noexcept { return interp_result_ran(get()); }
    std::string_view interrupted() const noexcept { return interp_result_interrupted(get()); }
    /// INTERP_NONE: there is none.
    std::int32_t exit_code() const noexcept { return interp_result_exit_code(get()); }
    std::int32_t signal() const noexcept { return interp_result_signal(get()); }
    /// A stream as text for a model: start, a line that says how much is missing, end.
    std::string_view out() const noexcept { return text(INTERP_STREAM_STDOUT); }
    std::string_view err() const noexcept { return text(INTERP_STREAM_STDERR); }
    std::string_view text(std::int32_t stream) const noexcept { return detail::view(interp_result_text, get(), stream); }
    std::string_view head(std::int32_t stream) const noexcept { return detail::view(interp_result_head, get(), stream); }
    std::string_view tail(std::int32_t stream) const noexcept { return detail::view(interp_result_tail, get(), stream); }
    std::uint64_t total_bytes(std::int32_t stream) const noexcept { return interp_result_total_bytes(get(), stream); }
    std::uint64_t total_lines(std::int32_t stream) const noexcept { return interp_result_total_lines(get(), stream); }
    bool truncated(std::int32_t stream) const noexcept { return interp_result_truncated(get(), stream) != 0; }
    /// The last expression's value as text; data() is nullptr when there was none.
    std::string_view value() const noexcept { return detail::view(interp_result_value, get()); }
    std::string_view error_type() const noexcept { return detail::view(interp_result_error_type, get()); }
    std::string_view error_message() const noexcept { return detail::view(interp_result_error_message, get()); }
    std::string_view error_traceback() const noexcept { return detail::view(interp_result_error_traceback, get()); }
    std::int32_t error_line() const noexcept { return interp_result_error_line(get()); }
    std::uint64_t wall_ns() const noexcept { return interp_result_wall_ns(get()); }
    std::uint64_t cpu_ns() const noexcept { return interp_result_cpu_ns(get()); }
    std::uint64_t memory_peak_bytes() const noexcept { return interp_result_memory_peak_bytes(get()); }
    std::uint32_t part_count() const noexcept { return interp_result_part_count(get()); }
    part_view part(std::uint32_t i) const noexcept
    {
        const char *mime = nullptr;
        std::size_t n = 0;
        part_view p{ {}, {}, 0 };
        if (const void *data = interp_result_part(get(), i, &mime, &p.bundle, &n)) {
            p.mime = mime;
            p.data = std::string_view(static_cast<const char *>(data), n);
        }
        return p;
    }
    std::string_view json() const noexcept { return detail::view(interp_result_json, get()); }
};

/// One event of a call, borrowed: valid inside the lambda that it is given to, or until the call's next one.
class event {
public:
    explicit event(const interp_event *p) noexcept : p_(p) {}
    std::int32_t type() const noexcept { return interp_event_type(p_); }
    bool is_output() const noexcept { return type() == INTERP_EV_OUTPUT; }
    std::int32_t stream() const noexcept { return interp_event_stream(p_); }
    std::uint64_t exec() const noexcept { return interp_event_exec(p_); }
    std::uint64_t offset() const noexcept { return interp_event_offset(p_); }
    std::uint64_t missing() const noexcept { return interp_event_missing(p_); }
    std::uint64_t seq() const noexcept { return interp_event_seq(p_); }
    std::string_view data() const noexcept { return detail::view(interp_event_data, p_); }
    std::string_view json() const noexcept { return detail::view(interp_event_json, p_); }
    const interp_event *get() const noexcept { return p_; }

private:
    const interp_event *p_;
};

/// Ends what it is attached to, from any thread or signal handler. Copies are the same object.
class cancel {
public:
    cancel() noexcept = default;
    explicit cancel(interp_cancel *owned) noexcept : p_(owned) {}
    cancel(const cancel &o) noexcept : p_(interp_cancel_ref(o.p_)) {}
    cancel(cancel &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    cancel &operator=(cancel o) noexcept
    {
        std::swap(p_, o.p_);
        return *this;
    }
    ~cancel() { interp_cancel_free(p_); }
    explicit operator bool() const noexcept { return p_ != nullptr; }
    void fire() const noexcept { interp_cancel_fire(p_); }
    bool fired() const noexcept { return interp_cancel_fired(p_) != 0; }
    interp_cancel *get() const noexcept { return p_; }

private:
    interp_cancel *p_ = nullptr;
};

/// Any operation in flight. Destroyed before its end it is abandoned: cancelled, its result dropped; the session stays usable.
class call : public detail::handle<interp_call, interp_call_free> {
public:
    using handle::handle;
    std::int32_t kind() const noexcept { return interp_call_kind(get()); }
    /// INTERP_OK: it has news; INTERP_AGAIN: the time was up; negative: see e.
    interp_status wait(std::uint64_t timeout_ms, error &e) noexcept
    {
        interp_status st = INTERP_OK;
        detail::done(e, [&](interp_error **raw) { return st = interp_call_wait(get(), timeout_ms, 0, raw); });
        return st;
    }
    /// Gives the events that are there to f(event); true when the last one was among them.
    template <class F> bool each(F &&f)
    {
        const interp_event *p = nullptr;
        interp_status st;
        while ((st = interp_call_next(get(), &p)) == INTERP_OK)
            f(event(p));
        return st == INTERP_DONE;
    }
    /// How many bytes of an interactive exec's input were taken; see interp_call_write.
    std::size_t write(std::string_view bytes, error &e) noexcept
    {
        std::size_t taken = 0;
        detail::done(e, [&](interp_error **raw) { return interp_call_write(get(), bytes.data(), bytes.size(), &taken, raw); });
        return taken;
    }
    bool write_end(error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_call_write_end(get(), raw); });
    }
    bool resize(std::uint32_t rows, std::uint32_t columns, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_call_resize(get(), rows, columns, raw); });
    }
    /// The result of an exec that is done; empty for another kind, and when e says that it failed.
    result finish(error &e) noexcept
    {
        interp_result *r = nullptr;
        detail::done(e, [&](interp_error **raw) { return interp_call_finish(get(), &r, raw); });
        return result(r);
    }
    /// Waits for the end, in a context that is not driven by a loop; events go to f(event). What f throws comes out of here, and the call can be waited for again.
    template <class F> result end(F &&f, error &e)
    {
        while (!each(f))
            if (wait(INTERP_FOREVER, e) < 0)
                return result();
        return finish(e);
    }
#if defined(__cpp_exceptions)
    template <class F> result end(F &&f)
    {
        error e;
        result r = end(std::forward<F>(f), e);
        if (e)
            throw failure(std::move(e));
        return r;
    }
    result end()
    {
        return end([](const event &) {});
    }
#endif
};

class context;

/// How to open a session.
class config : public detail::handle<interp_config, interp_config_free> {
public:
    using handle::handle;
    inline static config make(const context &x, error &e) noexcept;
    /// Any option by its C setter: set(interp_config_set_memory_bytes, 64 << 20, e)
    bool set(interp_status (*setter)(interp_config *, std::uint64_t, interp_error **), std::uint64_t v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), v, raw); });
    }
    bool set(interp_status (*setter)(interp_config *, const char *, interp_error **), const char *v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), v, raw); });
    }
    bool json(std::string_view text, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_set_json(get(), text.data() ? text.data() : "", text.size(), raw); });
    }
    bool env(const char *name, std::string_view value, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_set_env(get(), name, value.data() ? value.data() : "", value.size(), raw); });
    }
    bool attach(const cancel &t, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_set_cancel(get(), t.get(), raw); });
    }
#if defined(__cpp_exceptions)
    explicit inline config(const context &x);
    config &set(interp_status (*setter)(interp_config *, std::uint64_t, interp_error **), std::uint64_t v) { return need([&](error &e) { return set(setter, v, e); }); }
    config &set(interp_status (*setter)(interp_config *, const char *, interp_error **), const char *v) { return need([&](error &e) { return set(setter, v, e); }); }
    config &json(std::string_view text) { return need([&](error &e) { return json(text, e); }); }
    config &env(const char *name, std::string_view value) { return need([&](error &e) { return env(name, value, e); }); }
    config &attach(const cancel &t) { return need([&](error &e) { return attach(t, e); }); }

private:
    template <class F> config &need(F &&f)
    {
        detail::must(std::forward<F>(f));
        return *this;
    }
#endif
};

/// One exec to run.
class request : public detail::handle<interp_request, interp_request_free> {
public:
    using handle::handle;
    inline static request make(const context &x, error &e) noexcept;
    /// Any option by its C setter: set(interp_request_set_timeout_ms, 5000, e)
    bool set(interp_status (*setter)(interp_request *, std::uint64_t, interp_error **), std::uint64_t v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), v, raw); });
    }
    bool set(interp_status (*setter)(interp_request *, const char *, interp_error **), const char *v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), v, raw); });
    }
    bool language(const char *name, error &e) noexcept { return set(interp_request_set_language, name, e); }
    bool code(std::string_view text, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_code(get(), text.data() ? text.data() : "", text.size(), raw); });
    }
    bool input(std::string_view bytes, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_stdin(get(), bytes.data() ? bytes.data() : "", bytes.size(), raw); });
    }
    bool env(const char *name, std::string_view value, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_env(get(), name, value.data() ? value.data() : "", value.size(), raw); });
    }
    bool json(std::string_view text, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_json(get(), text.data() ? text.data() : "", text.size(), raw); });
    }
    bool attach(const cancel &t, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_cancel(get(), t.get(), raw); });
    }
#if defined(__cpp_exceptions)
    inline request(const context &x, const char *language, std::string_view code);
    request &set(interp_status (*setter)(interp_request *, std::uint64_t, interp_error **), std::uint64_t v) { return need([&](error &e) { return set(setter, v, e); }); }
    request &set(interp_status (*setter)(interp_request *, const char *, interp_error **), const char *v) { return need([&](error &e) { return set(setter, v, e); }); }
    request &input(std::string_view bytes) { return need([&](error &e) { return input(bytes, e); }); }
    request &env(const char *name, std::string_view value) { return need([&](error &e) { return env(name, value, e); }); }
    request &json(std::string_view text) { return need([&](error &e) { return json(text, e); }); }
    request &attach(const cancel &t) { return need([&](error &e) { return attach(t, e); }); }

private:
    template <class F> request &need(F &&f)
    {
        detail::must(std::forward<F>(f));
        return *this;
    }
#endif
};

/// One sandbox. Its end closes it: kills, waits at most close_timeout_ms, frees.
class session : public detail::handle<interp_session, detail::close_session> {
public:
    using handle::handle;
    inline static session open(const context &x, const config &c, error &e) noexcept;
    std::int32_t status() const noexcept { return interp_session_status(get()); }
    std::string_view info() const noexcept { return detail::view(interp_session_info_json, get()); }
    /// Any thread; see interp_session_shutdown.
    void shutdown() noexcept { interp_session_shutdown(get()); }
    call start(const request &r, error &e) noexcept
    {
        interp_call *c = nullptr;
        detail::done(e, [&](interp_error **raw) { return interp_session_exec_start(get(), r.get(), &c, raw); });
        return call(c);
    }
    result exec(const request &r, error &e) noexcept
    {
        interp_result *out = nullptr;
        detail::done(e, [&](interp_error **raw) { return interp_session_exec(get(), r.get(), &out, raw); });
        return result(out);
    }
    result run(const char *language, std::string_view code, error &e) noexcept
    {
        interp_result *out = nullptr;
        detail::done(e, [&](interp_error **raw) { return interp_session_run(get(), language, code.data() ? code.data() : "", code.size(), &out, raw); });
        return result(out);
    }
    /// Ends a kernel; the next exec starts a fresh one.
    bool restart(const char *language, const char *kernel, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_restart(get(), language, kernel, raw); });
    }
#if defined(__cpp_exceptions)
    inline session(const context &x, const config &c);
    explicit inline session(const context &x);
    call start(const request &r) { return detail::must([&](error &e) { return start(r, e); }); }
    result exec(const request &r) { return detail::must([&](error &e) { return exec(r, e); }); }
    /// Events go to f(event); for OUTPUT events the request must have `stream` set. What f throws ends the exec and comes out of here.
    template <class F> result exec(const request &r, F &&f) { return start(r).end(std::forward<F>(f)); }
    result run(const char *language, std::string_view code) { return detail::must([&](error &e) { return run(language, code, e); }); }
    void restart(const char *language, const char *kernel = nullptr) { detail::must([&](error &e) { return restart(language, kernel, e); }); }
#endif
};

/// Backends, loop, defaults. Sessions keep what they need of it alive.
class context : public detail::handle<interp_ctx, interp_ctx_free> {
public:
    using handle::handle;
    using log_function = std::function<void(std::int32_t level, std::string_view text)>;
    /// flags: 0 or INTERP_CTX_LOOP
    static context make(std::uint32_t flags, error &e) noexcept
    {
        interp_ctx *x = nullptr;
        detail::done(e, [&](interp_error **raw) { return interp_ctx_new(flags, &x, raw); });
        return context(x);
    }
    cancel new_cancel(error &e) const noexcept
    {
        interp_cancel *t = nullptr;
        detail::done(e, [&](interp_error **raw) { return interp_cancel_new(get(), &t, raw); });
        return cancel(t);
    }
    bool redact(const char *name, std::string_view value, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_redact_add(get(), name, value.data() ? value.data() : "", value.size(), raw); });
    }
    /// f may be called on any thread that is inside the library. It must not throw, nor call the library.
    bool log(log_function f, error &e)
    {
        auto *kept = new log_function(std::move(f));
        return detail::done(e, [&](interp_error **raw) {
            return interp_ctx_set_log(
                get(), [](void *p, std::int32_t level, const char *text, std::size_t n) noexcept { (*static_cast<log_function *>(p))(level, std::string_view(text, n)); }, kept,
                [](void *p) noexcept { delete static_cast<log_function *>(p); }, raw);
        });
    }
    /// For a context that a loop drives; see interp_ctx_fd, interp_ctx_dispatch, interp_ctx_next. The calls that next names are known by their userdata.
    int fd() const noexcept { return interp_ctx_fd(get()); }
    interp_status dispatch(error &e) const noexcept
    {
        interp_status st = INTERP_OK;
        detail::done(e, [&](interp_error **raw) { return st = interp_ctx_dispatch(get(), raw); });
        return st;
    }
    interp_call *next() const noexcept
    {
        interp_call *c = nullptr;
        return interp_ctx_next(get(), &c) == INTERP_OK ? c : nullptr;
    }
#if defined(__cpp_exceptions)
    explicit context(std::uint32_t flags = 0) : handle(detail::must([&](error &e) { return make(flags, e); }).release()) {}
    cancel new_cancel() const { return detail::must([&](error &e) { return new_cancel(e); }); }
    void redact(const char *name, std::string_view value) const { detail::must([&](error &e) { return redact(name, value, e); }); }
    void log(log_function f) { detail::must([&](error &e) { return log(std::move(f), e); }); }
#endif
};

inline config config::make(const context &x, error &e) noexcept
{
    interp_config *c = nullptr;
    detail::done(e, [&](interp_error **raw) { return interp_config_new(x.get(), &c, raw); });
    return config(c);
}
inline request request::make(const context &x, error &e) noexcept
{
    interp_request *r = nullptr;
    detail::done(e, [&](interp_error **raw) { return interp_request_new(x.get(), &r, raw); });
    return request(r);
}
inline session session::open(const context &x, const config &c, error &e) noexcept
{
    interp_session *s = nullptr;
    detail::done(e, [&](interp_error **raw) { return interp_session_open(x.get(), c.get(), &s, raw); });
    return session(s);
}
#if defined(__cpp_exceptions)
inline config::config(const context &x) : handle(detail::must([&](error &e) { return make(x, e); }).release()) {}
inline request::request(const context &x, const char *name, std::string_view text) : handle(detail::must([&](error &e) { return make(x, e); }).release())
{
    need([&](error &e) { return language(name, e); });
    need([&](error &e) { return code(text, e); });
}
inline session::session(const context &x, const config &c) : handle(detail::must([&](error &e) { return open(x, c, e); }).release()) {}
inline session::session(const context &x) : session(x, config()) {}
#endif

}  // namespace v0_1
}  // namespace interp
#endif
