// interp.hpp - the library for C++17: objects that own their handles and can be moved, not copied; views instead of copies; lambdas for events. Header only.
// SPDX-License-Identifier: MIT
//
// What can fail has two forms. With an `error &` as its last argument it never throws: it returns an empty object or false, and the error says why. Without one it throws
// interp::failure, and is there only where the compiler has exceptions. What code in a sandbox does is no failure: see result::ok().
//
// A moved-from or empty object is false; its getters give what the C functions give for NULL. Thread classes are those of the C functions (base.h): result and error any thread,
// cancel::fire any thread and signal handler, the others one thread at a time (in a threaded context several may work in one session, each with calls of its own). Texts are borrowed from the object that gives them.
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

// A view without data is nothing at all to the C functions; they want an empty text.
inline const char *text(std::string_view v) noexcept { return v.data() ? v.data() : ""; }

template <class F, class... A> std::string_view view(F f, A... a) noexcept
{
    std::size_t n = 0;
    auto p = f(a..., &n);
    return p ? std::string_view(static_cast<const char *>(static_cast<const void *>(p)), n) : std::string_view();
}
}  // namespace detail

/// Of the library that is loaded, which may be newer than these headers; see interp_version and interp_has.
inline std::string_view version() noexcept { return interp_version(); }
inline std::uint32_t version_number() noexcept { return interp_version_number(); }
inline bool has(const char *feature) noexcept { return interp_has(feature) != 0; }
inline std::string_view options_json() noexcept { return detail::view(interp_options_json); }
inline std::string_view status_name(interp_status st) noexcept { return interp_status_name(st); }
/// About how many tokens a language model makes of a text.
inline std::uint64_t estimate_tokens(std::string_view text) noexcept { return interp_estimate_tokens(detail::text(text), text.size()); }

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
/// The same for one that makes something: f(T **, interp_error **).
template <class Handle, class T, class F> Handle take(error &e, F &&f) noexcept
{
    T *p = nullptr;
    done(e, [&](interp_error **raw) { return f(&p, raw); });
    return Handle(p);
}
#if defined(__cpp_exceptions)
template <class F> auto value(F &&f)
{
    error e;
    auto v = f(e);
    if (e)
        throw failure(std::move(e));
    return v;
}
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
        std::uint64_t total_bytes;   ///< before it was shortened to the session's value_bytes
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
    /// What to do about a failure, for a model; empty when there is nothing to say.
    std::string_view hint() const noexcept { return detail::view(interp_result_hint, get()); }
    /// Of a one-shot language: "compile" or "run"; and what its compiler said.
    std::string_view step() const noexcept { return interp_result_step(get()); }
    std::string_view compile_output() const noexcept { return detail::view(interp_result_compile_output, get()); }
    /// "host" or "guest": who vouches for outcome, exit code and state.
    std::string_view claimed_by() const noexcept { return interp_result_claimed_by(get()); }
    std::uint32_t part_count() const noexcept { return interp_result_part_count(get()); }
    part_view part(std::uint32_t i) const noexcept
    {
        const char *mime = nullptr;
        std::size_t n = 0;
        part_view p{ {}, {}, 0, interp_result_part_total_bytes(get(), i) };
        if (const void *data = interp_result_part(get(), i, &mime, &p.bundle, &n)) {
            p.mime = mime;
            p.data = std::string_view(static_cast<const char *>(data), n);
        }
        return p;
    }
    std::string_view json() const noexcept { return detail::view(interp_result_json, get()); }

    /// With option change_set: a file that the exec created, changed or deleted. data: with fetch_files_bytes; data.data() is nullptr when it did not come.
    struct file_view {
        std::int32_t change;   ///< INTERP_FILE_*
        std::string_view path, data;
    };
    std::uint32_t file_count() const noexcept { return interp_result_file_count(get()); }
    file_view file(std::uint32_t i) const noexcept
    {
        return { interp_result_file_change(get(), i), detail::view(interp_result_file_path, get(), i), detail::view(interp_result_file_data, get(), i) };
    }

    /// The whole stream, with option spill_dir: bytes of it that can be read; a page of it (how many bytes it has: 0 at the end, or see e).
    std::uint64_t readable_bytes(std::int32_t stream) const noexcept { return interp_result_readable_bytes(get(), stream); }
    std::size_t read(std::int32_t stream, std::uint64_t offset, void *p, std::size_t n, error &e) const noexcept
    {
        std::size_t got = 0;
        detail::done(e, [&](interp_error **raw) { return interp_result_read(get(), stream, offset, p, n, &got, raw); });
        return got;
    }
    /// The first place at or behind `from` where text stands; found is false when it is nowhere.
    struct place {
        bool found;
        std::uint64_t offset, line;
    };
    place find(std::int32_t stream, std::string_view text, std::uint64_t from, error &e) const noexcept
    {
        place at{ false, 0, 0 };
        interp_status st = INTERP_OK;
        detail::done(e, [&](interp_error **raw) { return st = interp_result_find(get(), stream, detail::text(text), text.size(), from, &at.offset, &at.line, raw); });
        at.found = st == INTERP_OK;
        return at;
    }
    bool save(std::int32_t stream, const char *path, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_result_save(get(), stream, path, raw); });
    }
#if defined(__cpp_exceptions)
    std::size_t read(std::int32_t stream, std::uint64_t offset, void *p, std::size_t n) const
    {
        return detail::value([&](error &e) { return read(stream, offset, p, n, e); });
    }
    place find(std::int32_t stream, std::string_view text, std::uint64_t from = 0) const
    {
        return detail::value([&](error &e) { return find(stream, text, from, e); });
    }
    void save(std::int32_t stream, const char *path) const
    {
        detail::must([&](error &e) { return save(stream, path, e); });
    }
#endif
};

/// What a call on files brought: the bytes of a file, or the JSON of a list or a look. Immutable, any thread, outlives session and context.
class content : public detail::handle<interp_content, interp_content_free> {
public:
    using handle::handle;
    std::string_view data() const noexcept { return detail::view(interp_content_data, get()); }
};

/// A redacted text and how often each name was found in it, as JSON. Immutable, any thread, outlives the context.
class redacted : public detail::handle<interp_redacted, interp_redacted_free> {
public:
    using handle::handle;
    std::string_view data() const noexcept { return detail::view(interp_redacted_data, get()); }
    std::string_view counts_json() const noexcept { return detail::view(interp_redacted_counts_json, get()); }
};

/// What a verification of an audit trail found.
class audit_report : public detail::handle<interp_audit_report, interp_audit_report_free> {
public:
    using handle::handle;
    bool ok() const noexcept { return interp_audit_report_ok(get()) != 0; }
    std::string_view json() const noexcept { return detail::view(interp_audit_report_json, get()); }
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
    /// Of an event that asks: what call::reply takes.
    std::uint64_t reply_id() const noexcept { return interp_event_reply_id(p_); }
    /// Of a notice: the id of the session that it is about.
    std::string_view session_id() const noexcept { return interp_event_session_id(p_); }
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
    /// The C handle of the session that it belongs to, borrowed; nullptr once that has been closed.
    interp_session *of_session() const noexcept { return interp_call_session(get()); }
    /// A pointer of the host's, by which a loop knows what context::next names.
    void *userdata() const noexcept { return interp_call_userdata(get()); }
    void set_userdata(void *p) noexcept { interp_call_set_userdata(get(), p); }
    /// INTERP_OK: it has news; INTERP_AGAIN: the time was up; negative: see e.
    interp_status wait(std::uint64_t timeout_ms, error &e) noexcept
    {
        interp_status st = INTERP_OK;
        detail::done(e, [&](interp_error **raw) { return st = interp_call_wait(get(), timeout_ms, 0, raw); });
        return st;
    }
    /// With just these signals blocked while it sleeps, as pselect does; flags: 0 or INTERP_WAIT_INTR. See interp_call_wait_masked.
    interp_status wait_masked(std::uint64_t timeout_ms, std::uint32_t flags, std::uint64_t blocked, error &e) noexcept
    {
        interp_status st = INTERP_OK;
        detail::done(e, [&](interp_error **raw) { return st = interp_call_wait_masked(get(), timeout_ms, flags, blocked, raw); });
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
    /// Output by offset, without taking anything away; see interp_call_output.
    struct output_view {
        interp_status status;   ///< INTERP_OK, INTERP_AGAIN (nothing there yet), INTERP_DONE (no more), or negative: see e
        std::size_t size;       ///< bytes in the caller's buffer
        std::uint64_t offset;   ///< of the first of them; ask on with offset + size
    };
    output_view output(std::int32_t stream, std::uint64_t offset, void *p, std::size_t n, error &e) noexcept
    {
        output_view v{ INTERP_OK, 0, offset };
        detail::done(e, [&](interp_error **raw) { return v.status = interp_call_output(get(), stream, offset, p, n, &v.size, &v.offset, raw); });
        return v;
    }
    /// To the processes that the exec has started; SIGINT to its kernel too.
    bool signal(std::int32_t number, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_call_signal(get(), number, raw); });
    }
    /// Answers an event that asks: INTERP_OK or INTERP_E_DENIED; see interp_call_reply.
    bool reply(std::uint64_t reply_id, interp_status verdict, std::string_view json, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_call_reply(get(), reply_id, verdict, json.data(), json.size(), raw); });
    }
    /// What a call on files that is done says, as JSON.
    std::string_view json() const noexcept { return detail::view(interp_call_json, get()); }
    bool resize(std::uint32_t rows, std::uint32_t columns, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_call_resize(get(), rows, columns, raw); });
    }
    /// The result of an exec that is done; empty for another kind, and when e says that it failed.
    result finish(error &e) noexcept
    {
        return detail::take<result, interp_result>(e, [&](interp_result **out, interp_error **raw) { return interp_call_finish(get(), out, raw); });
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
    /// Any option by its C setter: set(interp_config_set_memory_bytes, 64 << 20, e), set(interp_config_set_image, "debian", e), set(interp_config_add_runtime, "/opt/tool", e)
    bool set(interp_status (*setter)(interp_config *, std::uint64_t, interp_error **), std::uint64_t v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), v, raw); });
    }
    bool set(interp_status (*setter)(interp_config *, const char *, interp_error **), const char *v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), v, raw); });
    }
    /// What takes a JSON text: set(interp_config_set_policy, json, e), set(interp_config_add_language, json, e)
    bool set(interp_status (*setter)(interp_config *, const char *, std::size_t, interp_error **), std::string_view v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), detail::text(v), v.size(), raw); });
    }
    /// What takes a name and a text: set(interp_config_set_interpreter, "python", path, e), set(interp_config_set_label, name, value, e)
    bool set(interp_status (*setter)(interp_config *, const char *, const char *, interp_error **), const char *name, const char *v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), name, v, raw); });
    }
    bool json(std::string_view text, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_set_json(get(), detail::text(text), text.size(), raw); });
    }
    bool env(const char *name, std::string_view value, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_set_env(get(), name, detail::text(value), value.size(), raw); });
    }
    /// Shows a directory or file of this machine inside: mode "ro" or "rw".
    bool mount(const char *source, const char *target, const char *mode, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_add_mount(get(), source, target, mode, raw); });
    }
    /// What only a backend knows: key "<backend>.<key>", value as JSON.
    bool extra(const char *key, std::string_view json, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_set_extra(get(), key, detail::text(json), json.size(), raw); });
    }
    /// For the sessions opened with it, on top of what the context redacts; see context.
    bool redact(const char *name, std::string_view value, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_redact_add(get(), name, detail::text(value), value.size(), raw); });
    }
    bool redact_pattern(const char *name, std::string_view regex, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_redact_add_pattern(get(), name, detail::text(regex), regex.size(), raw); });
    }
    bool detector(const char *name, bool on, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_redact_set_detector(get(), name, on, raw); });
    }
    /// What is set, and the languages of its sessions, as JSON; borrowed until the next call on it.
    std::string_view json() noexcept { return detail::view(interp_config_json, get()); }
    std::string_view languages() noexcept { return detail::view(interp_config_languages_json, get()); }
    bool attach(const cancel &t, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_config_set_cancel(get(), t.get(), raw); });
    }
#if defined(__cpp_exceptions)
    explicit inline config(const context &x);
    config &set(interp_status (*setter)(interp_config *, std::uint64_t, interp_error **), std::uint64_t v) { return need([&](error &e) { return set(setter, v, e); }); }
    config &set(interp_status (*setter)(interp_config *, const char *, interp_error **), const char *v) { return need([&](error &e) { return set(setter, v, e); }); }
    config &set(interp_status (*setter)(interp_config *, const char *, std::size_t, interp_error **), std::string_view v) { return need([&](error &e) { return set(setter, v, e); }); }
    config &set(interp_status (*setter)(interp_config *, const char *, const char *, interp_error **), const char *name, const char *v) { return need([&](error &e) { return set(setter, name, v, e); }); }
    config &json(std::string_view text) { return need([&](error &e) { return json(text, e); }); }
    config &env(const char *name, std::string_view value) { return need([&](error &e) { return env(name, value, e); }); }
    config &mount(const char *source, const char *target, const char *mode = "ro") { return need([&](error &e) { return mount(source, target, mode, e); }); }
    config &extra(const char *key, std::string_view json) { return need([&](error &e) { return extra(key, json, e); }); }
    config &redact(const char *name, std::string_view value) { return need([&](error &e) { return redact(name, value, e); }); }
    config &redact_pattern(const char *name, std::string_view regex) { return need([&](error &e) { return redact_pattern(name, regex, e); }); }
    config &detector(const char *name, bool on) { return need([&](error &e) { return detector(name, on, e); }); }
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
    /// What takes a JSON text: set(interp_request_set_options, json, e)
    bool set(interp_status (*setter)(interp_request *, const char *, std::size_t, interp_error **), std::string_view v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), detail::text(v), v.size(), raw); });
    }
    /// What takes a name and a text: set(interp_request_set_label, name, value, e)
    bool set(interp_status (*setter)(interp_request *, const char *, const char *, interp_error **), const char *name, const char *v, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return setter(get(), name, v, raw); });
    }
    bool language(const char *name, error &e) noexcept { return set(interp_request_set_language, name, e); }
    bool code(std::string_view text, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_code(get(), detail::text(text), text.size(), raw); });
    }
    bool input(std::string_view bytes, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_stdin(get(), detail::text(bytes), bytes.size(), raw); });
    }
    bool env(const char *name, std::string_view value, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_env(get(), name, detail::text(value), value.size(), raw); });
    }
    bool json(std::string_view text, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_json(get(), detail::text(text), text.size(), raw); });
    }
    /// A file that is put before the code runs, and an argument for the program of a one-shot language.
    bool file(std::string_view path, std::string_view bytes, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_add_file(get(), detail::text(path), path.size(), detail::text(bytes), bytes.size(), raw); });
    }
    bool arg(std::string_view text, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_add_arg(get(), detail::text(text), text.size(), raw); });
    }
    bool attach(const cancel &t, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_request_set_cancel(get(), t.get(), raw); });
    }
#if defined(__cpp_exceptions)
    inline request(const context &x, const char *language, std::string_view code);
    request &set(interp_status (*setter)(interp_request *, std::uint64_t, interp_error **), std::uint64_t v) { return need([&](error &e) { return set(setter, v, e); }); }
    request &set(interp_status (*setter)(interp_request *, const char *, interp_error **), const char *v) { return need([&](error &e) { return set(setter, v, e); }); }
    request &set(interp_status (*setter)(interp_request *, const char *, std::size_t, interp_error **), std::string_view v) { return need([&](error &e) { return set(setter, v, e); }); }
    request &set(interp_status (*setter)(interp_request *, const char *, const char *, interp_error **), const char *name, const char *v) { return need([&](error &e) { return set(setter, name, v, e); }); }
    request &input(std::string_view bytes) { return need([&](error &e) { return input(bytes, e); }); }
    request &env(const char *name, std::string_view value) { return need([&](error &e) { return env(name, value, e); }); }
    request &json(std::string_view text) { return need([&](error &e) { return json(text, e); }); }
    request &file(std::string_view path, std::string_view bytes) { return need([&](error &e) { return file(path, bytes, e); }); }
    request &arg(std::string_view text) { return need([&](error &e) { return arg(text, e); }); }
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
    /// Starts opening: the session is there at once, and is one of a call that fails, too; kind OPEN.
    inline static std::pair<session, call> start_open(const context &x, const config &c, error &e) noexcept;
    std::int32_t status() const noexcept { return interp_session_status(get()); }
    std::string_view info() const noexcept { return detail::view(interp_session_info_json, get()); }
    /// Any thread; see interp_session_shutdown.
    void shutdown() noexcept { interp_session_shutdown(get()); }
    /// Starts closing: the call is done when the sandbox is verified gone. The object's end still frees it.
    call start_close(error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_close_start(get(), c, raw); });
    }
    /// A pointer of the host's.
    void *userdata() const noexcept { return interp_session_userdata(get()); }
    void set_userdata(void *p) noexcept { interp_session_set_userdata(get(), p); }
    call start(const request &r, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_exec_start(get(), r.get(), c, raw); });
    }
    result exec(const request &r, error &e) noexcept
    {
        return detail::take<result, interp_result>(e, [&](interp_result **out, interp_error **raw) { return interp_session_exec(get(), r.get(), out, raw); });
    }
    result run(const char *language, std::string_view code, error &e) noexcept
    {
        return detail::take<result, interp_result>(e, [&](interp_result **out, interp_error **raw) { return interp_session_run(get(), language, detail::text(code), code.size(), out, raw); });
    }
    /// Ends a kernel; the next exec starts a fresh one.
    bool restart(const char *language, const char *kernel, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_restart(get(), language, kernel, raw); });
    }
    /// Ends a kernel and forgets it.
    bool delete_kernel(const char *language, const char *kernel, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_kernel_delete(get(), language, kernel, raw); });
    }
    call start_restart(const char *language, const char *kernel, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_restart_start(get(), language, kernel, c, raw); });
    }
    call start_delete_kernel(const char *language, const char *kernel, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_kernel_delete_start(get(), language, kernel, c, raw); });
    }
    /// The kernels as a JSON array; borrowed until it is asked for again.
    std::string_view kernels() noexcept { return detail::view(interp_session_kernels_json, get()); }
    bool set_env(const char *name, std::string_view value, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_set_env(get(), name, detail::text(value), value.size(), raw); });
    }
    bool unset_env(const char *name, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_unset_env(get(), name, raw); });
    }
    /// Looks at what there is in the sandbox; then probe_json and probe_text have it.
    bool probe(error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_probe(get(), raw); });
    }
    call start_probe(error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_probe_start(get(), c, raw); });
    }
    std::string_view probe_json() const noexcept { return detail::view(interp_session_probe_json, get()); }
    std::string_view probe_text() const noexcept { return detail::view(interp_session_probe_text, get()); }

    /// For this session, from now on; any thread. See context.
    bool redact(const char *name, std::string_view value, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_redact_add(get(), name, detail::text(value), value.size(), raw); });
    }
    bool redact_pattern(const char *name, std::string_view regex, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_redact_add_pattern(get(), name, detail::text(regex), regex.size(), raw); });
    }
    bool detector(const char *name, bool on, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_redact_set_detector(get(), name, on, raw); });
    }

    // Files; see files.h. Paths are of the sandbox, relative ones below /workspace, and may be any bytes.
    bool put(std::string_view path, std::string_view bytes, error &e, std::uint32_t mode = 0644) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_put(get(), detail::text(path), path.size(), mode, detail::text(bytes), bytes.size(), raw); });
    }
    content get_file(std::string_view path, error &e, std::uint64_t max_bytes = INTERP_FOREVER) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_get(get(), detail::text(path), path.size(), max_bytes, out, raw); });
    }
    content list(std::string_view path, std::uint32_t flags, std::uint64_t max, error &e) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_list(get(), detail::text(path), path.size(), flags, max, out, raw); });
    }
    content stat(std::string_view path, error &e) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_stat(get(), detail::text(path), path.size(), out, raw); });
    }
    bool mkdir(std::string_view path, std::uint32_t flags, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_mkdir(get(), detail::text(path), path.size(), flags, raw); });
    }
    bool rename(std::string_view from, std::string_view to, std::uint32_t flags, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_rename(get(), detail::text(from), from.size(), detail::text(to), to.size(), flags, raw); });
    }
    bool remove(std::string_view path, std::uint32_t flags, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_session_remove(get(), detail::text(path), path.size(), flags, raw); });
    }
    // The same started; what a call that is done says is its json().
    /// The content comes by call::write, its end by call::write_end.
    call start_put(std::string_view path, std::uint64_t size, error &e, std::uint32_t mode = 0644) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_put_start(get(), detail::text(path), path.size(), size, mode, c, raw); });
    }
    /// The bytes come as DATA events.
    call start_get(std::string_view path, error &e, std::uint64_t max_bytes = INTERP_FOREVER) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_get_start(get(), detail::text(path), path.size(), max_bytes, c, raw); });
    }
    call start_list(std::string_view path, std::uint32_t flags, std::uint64_t max, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_list_start(get(), detail::text(path), path.size(), flags, max, c, raw); });
    }
    call start_stat(std::string_view path, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_stat_start(get(), detail::text(path), path.size(), c, raw); });
    }
    call start_mkdir(std::string_view path, std::uint32_t flags, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_mkdir_start(get(), detail::text(path), path.size(), flags, c, raw); });
    }
    call start_rename(std::string_view from, std::string_view to, std::uint32_t flags, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_rename_start(get(), detail::text(from), from.size(), detail::text(to), to.size(), flags, c, raw); });
    }
    call start_remove(std::string_view path, std::uint32_t flags, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_remove_start(get(), detail::text(path), path.size(), flags, c, raw); });
    }

    // Trees; see files.h. flags: INTERP_TREE_*. An archive is in memory, or goes by a descriptor of the host's; dir is a directory of the host. What comes back is JSON, but for get_tar's archive.
    content put_tar(std::string_view path, std::string_view archive, std::uint32_t flags, error &e) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_put_tar(get(), detail::text(path), path.size(), flags, detail::text(archive), archive.size(), out, raw); });
    }
    content put_tar_from(int fd, std::string_view path, std::uint32_t flags, error &e) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_put_tar_fd(get(), detail::text(path), path.size(), flags, fd, out, raw); });
    }
    content get_tar(std::string_view path, std::uint32_t flags, error &e, std::uint64_t max_bytes = INTERP_FOREVER) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_get_tar(get(), detail::text(path), path.size(), flags, max_bytes, out, raw); });
    }
    content get_tar_to(int fd, std::string_view path, std::uint32_t flags, error &e, std::uint64_t max_bytes = INTERP_FOREVER) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_get_tar_fd(get(), detail::text(path), path.size(), flags, max_bytes, fd, out, raw); });
    }
    content put_dir(std::string_view path, const char *dir, std::uint32_t flags, error &e) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_put_dir(get(), detail::text(path), path.size(), flags, dir, out, raw); });
    }
    content get_dir(std::string_view path, const char *dir, std::uint32_t flags, error &e, std::uint64_t max_bytes = INTERP_FOREVER) noexcept
    {
        return fetch(e, [&](interp_content **out, interp_error **raw) { return interp_session_get_dir(get(), detail::text(path), path.size(), flags, max_bytes, dir, out, raw); });
    }
    /// The archive comes by call::write; or as DATA events.
    call start_put_tar(std::string_view path, std::uint32_t flags, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_put_tar_start(get(), detail::text(path), path.size(), flags, c, raw); });
    }
    call start_get_tar(std::string_view path, std::uint32_t flags, error &e, std::uint64_t max_bytes = INTERP_FOREVER) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_get_tar_start(get(), detail::text(path), path.size(), flags, max_bytes, c, raw); });
    }
    call start_put_dir(std::string_view path, const char *dir, std::uint32_t flags, error &e) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_put_dir_start(get(), detail::text(path), path.size(), flags, dir, c, raw); });
    }
    call start_get_dir(std::string_view path, const char *dir, std::uint32_t flags, error &e, std::uint64_t max_bytes = INTERP_FOREVER) noexcept
    {
        return started(e, [&](interp_call **c, interp_error **raw) { return interp_session_get_dir_start(get(), detail::text(path), path.size(), flags, max_bytes, dir, c, raw); });
    }
#if defined(__cpp_exceptions)
    inline session(const context &x, const config &c);
    explicit inline session(const context &x);
    inline static std::pair<session, call> start_open(const context &x, const config &c);
    call start_close() { return detail::must([&](error &e) { return start_close(e); }); }
    call start(const request &r) { return detail::must([&](error &e) { return start(r, e); }); }
    result exec(const request &r) { return detail::must([&](error &e) { return exec(r, e); }); }
    /// Events go to f(event); for OUTPUT events the request must have `stream` set. What f throws ends the exec and comes out of here.
    template <class F> result exec(const request &r, F &&f) { return start(r).end(std::forward<F>(f)); }
    result run(const char *language, std::string_view code) { return detail::must([&](error &e) { return run(language, code, e); }); }
    void restart(const char *language, const char *kernel = nullptr) { detail::must([&](error &e) { return restart(language, kernel, e); }); }
    void delete_kernel(const char *language, const char *kernel = nullptr) { detail::must([&](error &e) { return delete_kernel(language, kernel, e); }); }
    call start_restart(const char *language, const char *kernel = nullptr) { return detail::must([&](error &e) { return start_restart(language, kernel, e); }); }
    call start_delete_kernel(const char *language, const char *kernel = nullptr) { return detail::must([&](error &e) { return start_delete_kernel(language, kernel, e); }); }
    void set_env(const char *name, std::string_view value) { detail::must([&](error &e) { return set_env(name, value, e); }); }
    void unset_env(const char *name) { detail::must([&](error &e) { return unset_env(name, e); }); }
    void probe() { detail::must([&](error &e) { return probe(e); }); }
    call start_probe() { return detail::must([&](error &e) { return start_probe(e); }); }
    void redact(const char *name, std::string_view value) const { detail::must([&](error &e) { return redact(name, value, e); }); }
    void redact_pattern(const char *name, std::string_view regex) const { detail::must([&](error &e) { return redact_pattern(name, regex, e); }); }
    void detector(const char *name, bool on) const { detail::must([&](error &e) { return detector(name, on, e); }); }
    void put(std::string_view path, std::string_view bytes) { detail::must([&](error &e) { return put(path, bytes, e); }); }
    content get_file(std::string_view path) { return detail::must([&](error &e) { return get_file(path, e); }); }
    content list(std::string_view path, std::uint32_t flags = 0, std::uint64_t max = 10000) { return detail::must([&](error &e) { return list(path, flags, max, e); }); }
    content stat(std::string_view path) { return detail::must([&](error &e) { return stat(path, e); }); }
    void mkdir(std::string_view path, std::uint32_t flags = INTERP_FILE_PARENTS) { detail::must([&](error &e) { return mkdir(path, flags, e); }); }
    void rename(std::string_view from, std::string_view to, std::uint32_t flags = 0) { detail::must([&](error &e) { return rename(from, to, flags, e); }); }
    void remove(std::string_view path, std::uint32_t flags = 0) { detail::must([&](error &e) { return remove(path, flags, e); }); }
    call start_put(std::string_view path, std::uint64_t size = INTERP_UNKNOWN) { return detail::must([&](error &e) { return start_put(path, size, e); }); }
    call start_get(std::string_view path) { return detail::must([&](error &e) { return start_get(path, e); }); }
    call start_list(std::string_view path, std::uint32_t flags = 0, std::uint64_t max = 10000) { return detail::must([&](error &e) { return start_list(path, flags, max, e); }); }
    call start_stat(std::string_view path) { return detail::must([&](error &e) { return start_stat(path, e); }); }
    call start_mkdir(std::string_view path, std::uint32_t flags = INTERP_FILE_PARENTS) { return detail::must([&](error &e) { return start_mkdir(path, flags, e); }); }
    call start_rename(std::string_view from, std::string_view to, std::uint32_t flags = 0) { return detail::must([&](error &e) { return start_rename(from, to, flags, e); }); }
    call start_remove(std::string_view path, std::uint32_t flags = 0) { return detail::must([&](error &e) { return start_remove(path, flags, e); }); }
    content put_tar(std::string_view path, std::string_view archive, std::uint32_t flags = 0) { return detail::must([&](error &e) { return put_tar(path, archive, flags, e); }); }
    content put_tar_from(int fd, std::string_view path, std::uint32_t flags = 0) { return detail::must([&](error &e) { return put_tar_from(fd, path, flags, e); }); }
    content get_tar(std::string_view path, std::uint32_t flags = 0) { return detail::must([&](error &e) { return get_tar(path, flags, e); }); }
    content get_tar_to(int fd, std::string_view path, std::uint32_t flags = 0) { return detail::must([&](error &e) { return get_tar_to(fd, path, flags, e); }); }
    content put_dir(std::string_view path, const char *dir, std::uint32_t flags = 0) { return detail::must([&](error &e) { return put_dir(path, dir, flags, e); }); }
    content get_dir(std::string_view path, const char *dir, std::uint32_t flags = 0) { return detail::must([&](error &e) { return get_dir(path, dir, flags, e); }); }
    call start_put_tar(std::string_view path, std::uint32_t flags = 0) { return detail::must([&](error &e) { return start_put_tar(path, flags, e); }); }
    call start_get_tar(std::string_view path, std::uint32_t flags = 0) { return detail::must([&](error &e) { return start_get_tar(path, flags, e); }); }
    call start_put_dir(std::string_view path, const char *dir, std::uint32_t flags = 0) { return detail::must([&](error &e) { return start_put_dir(path, dir, flags, e); }); }
    call start_get_dir(std::string_view path, const char *dir, std::uint32_t flags = 0) { return detail::must([&](error &e) { return start_get_dir(path, dir, flags, e); }); }
#endif

private:
    template <class F> static content fetch(error &e, F &&f) noexcept { return detail::take<content, interp_content>(e, std::forward<F>(f)); }
    template <class F> static call started(error &e, F &&f) noexcept { return detail::take<call, interp_call>(e, std::forward<F>(f)); }
};

/// Backends, loop, defaults. Sessions keep what they need of it alive.
class context : public detail::handle<interp_ctx, interp_ctx_free> {
public:
    using handle::handle;
    using log_function = std::function<void(std::int32_t level, std::string_view text)>;
    /// flags: 0 or INTERP_CTX_LOOP
    static context make(std::uint32_t flags, error &e) noexcept
    {
        return detail::take<context, interp_ctx>(e, [&](interp_ctx **out, interp_error **raw) { return interp_ctx_new(flags, out, raw); });
    }
    /// With an allocator for all that the library allocates for it; see interp_realloc_fn.
    static context make(std::uint32_t flags, interp_realloc_fn allocate, void *userdata, error &e) noexcept
    {
        return detail::take<context, interp_ctx>(e, [&](interp_ctx **out, interp_error **raw) { return interp_ctx_new_alloc(flags, allocate, userdata, out, raw); });
    }
    cancel new_cancel(error &e) const noexcept
    {
        return detail::take<cancel, interp_cancel>(e, [&](interp_cancel **out, interp_error **raw) { return interp_cancel_new(get(), out, raw); });
    }
    bool redact(const char *name, std::string_view value, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_redact_add(get(), name, detail::text(value), value.size(), raw); });
    }
    /// A pattern in Perl's syntax, and a detector (its name, its group or "all") switched on or off; see redact.h.
    bool redact_pattern(const char *name, std::string_view regex, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_redact_add_pattern(get(), name, detail::text(regex), regex.size(), raw); });
    }
    bool detector(const char *name, bool on, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_redact_set_detector(get(), name, on, raw); });
    }
    /// A text of the host's as the library redacts output.
    interp::redacted redacted(std::string_view bytes, error &e) const noexcept
    {
        return detail::take<interp::redacted, interp_redacted>(e, [&](interp_redacted **out, interp_error **raw) { return interp_redact_bytes(get(), detail::text(bytes), bytes.size(), out, raw); });
    }
    /// Removes what sandboxes of dead owners have left with the backend of c: how many things. And started: kind GC; and a look at the backend without a sandbox: kind PROBE.
    std::uint64_t gc(const config &c, error &e) const noexcept
    {
        std::uint64_t removed = 0;
        detail::done(e, [&](interp_error **raw) { return interp_ctx_gc(get(), c.get(), &removed, raw); });
        return removed;
    }
    call start_gc(const config &c, error &e) const noexcept
    {
        return detail::take<call, interp_call>(e, [&](interp_call **out, interp_error **raw) { return interp_ctx_gc_start(get(), c.get(), out, raw); });
    }
    call start_probe(const config &c, error &e) const noexcept
    {
        return detail::take<call, interp_call>(e, [&](interp_call **out, interp_error **raw) { return interp_ctx_probe_start(get(), c.get(), out, raw); });
    }
    /// An agent for an architecture in place of the built-in one, before the first open. A backend of the host's own is added to get(): see backend.h.
    bool agent(const char *arch, std::string_view program, error &e) noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_ctx_set_agent(get(), arch, detail::text(program), program.size(), raw); });
    }
    /// Looks after sessions without a call in flight until stop is fired: for a thread of its own.
    bool run(const cancel &stop, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_ctx_run(get(), stop.get(), raw); });
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
    /// Starts the audit trail; see interp_audit_open for the options. key: empty for a chain without one.
    bool audit(std::string_view options, std::string_view key, error &e) const noexcept
    {
        return detail::done(e, [&](interp_error **raw) { return interp_audit_open(get(), options.data() ? options.data() : "{}", options.data() ? options.size() : 2, key.data(), key.size(), raw); });
    }
    /// Each record of the trail to f as well, which says whether it took it; before the first open. Threads and calls as for log.
    using audit_function = std::function<bool(std::string_view record, std::uint64_t seq)>;
    bool audit_records(audit_function f, error &e)
    {
        auto *kept = new audit_function(std::move(f));
        return detail::done(e, [&](interp_error **raw) {
            return interp_audit_set_callback(
                get(), [](void *p, const char *record, std::size_t n, std::uint64_t seq) noexcept -> std::int32_t { return (*static_cast<audit_function *>(p))(std::string_view(record, n), seq) ? 0 : 1; }, kept,
                [](void *p) noexcept { delete static_cast<audit_function *>(p); }, raw);
        });
    }
    struct audit_position {
        std::uint64_t seq, dropped;
        char hash[65];   ///< hexadecimal
    };
    /// Where the trail ends.
    audit_position audit_head(error &e) const noexcept
    {
        audit_position at{ 0, 0, "" };
        detail::done(e, [&](interp_error **raw) { return interp_audit_head(get(), &at.seq, at.hash, sizeof at.hash, &at.dropped, raw); });
        return at;
    }
    /// Verifies n files of one trail. key: empty for none; head: nullptr, or a hash that was kept.
    audit_report audit_verify(const char *const *paths, std::uint32_t n, std::string_view key, const char *head, error &e) const noexcept
    {
        return detail::take<audit_report, interp_audit_report>(e, [&](interp_audit_report **out, interp_error **raw) { return interp_audit_verify(get(), paths, n, key.data(), key.size(), head, out, raw); });
    }
    /// Gives the notices that are there to f(event); see interp_ctx_next_notice.
    template <class F> void notices(F &&f) const
    {
        const interp_event *p = nullptr;
        while (interp_ctx_next_notice(get(), &p) == INTERP_OK)
            f(event(p));
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
    void redact_pattern(const char *name, std::string_view regex) const { detail::must([&](error &e) { return redact_pattern(name, regex, e); }); }
    void detector(const char *name, bool on) const { detail::must([&](error &e) { return detector(name, on, e); }); }
    interp::redacted redacted(std::string_view bytes) const { return detail::must([&](error &e) { return redacted(bytes, e); }); }
    std::uint64_t gc(const config &c) const { return detail::value([&](error &e) { return gc(c, e); }); }
    call start_gc(const config &c) const { return detail::must([&](error &e) { return start_gc(c, e); }); }
    call start_probe(const config &c) const { return detail::must([&](error &e) { return start_probe(c, e); }); }
    void agent(const char *arch, std::string_view program) { detail::must([&](error &e) { return agent(arch, program, e); }); }
    void run(const cancel &stop) const { detail::must([&](error &e) { return run(stop, e); }); }
    void log(log_function f) { detail::must([&](error &e) { return log(std::move(f), e); }); }
    void audit(std::string_view options, std::string_view key = {}) const { detail::must([&](error &e) { return audit(options, key, e); }); }
    void audit_records(audit_function f) { detail::must([&](error &e) { return audit_records(std::move(f), e); }); }
    audit_position audit_head() const { return detail::value([&](error &e) { return audit_head(e); }); }
    audit_report audit_verify(const char *path, std::string_view key = {}) const { return detail::must([&](error &e) { return audit_verify(&path, 1, key, nullptr, e); }); }
#endif
};

inline config config::make(const context &x, error &e) noexcept
{
    return detail::take<config, interp_config>(e, [&](interp_config **out, interp_error **raw) { return interp_config_new(x.get(), out, raw); });
}
inline request request::make(const context &x, error &e) noexcept
{
    return detail::take<request, interp_request>(e, [&](interp_request **out, interp_error **raw) { return interp_request_new(x.get(), out, raw); });
}
inline session session::open(const context &x, const config &c, error &e) noexcept
{
    return detail::take<session, interp_session>(e, [&](interp_session **out, interp_error **raw) { return interp_session_open(x.get(), c.get(), out, raw); });
}
inline std::pair<session, call> session::start_open(const context &x, const config &c, error &e) noexcept
{
    interp_session *s = nullptr;
    call k = started(e, [&](interp_call **out, interp_error **raw) { return interp_session_open_start(x.get(), c.get(), &s, out, raw); });
    return { session(s), std::move(k) };
}
#if defined(__cpp_exceptions)
inline std::pair<session, call> session::start_open(const context &x, const config &c)
{
    error e;
    auto both = start_open(x, c, e);
    if (e)
        throw failure(std::move(e));
    return both;
}
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
