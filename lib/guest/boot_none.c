/* boot_none.c - stand-ins for what boot.c and lock.c bring: mode "local" ends at once, mode "stdio" never comes here. */
#include "guest.h"

__attribute__((weak)) int boot_run(int stream_fd, struct boot_facts *f)
{
    (void)stream_fd;
    (void)f;
    sys_exit(99);
}
__attribute__((weak)) void lock_kernel(void)
{
    engine_lock_kernel();
}
__attribute__((weak)) void lock_supervisor(void)
{
    engine_lock_supervisor();
}
