/* fds.h - every descriptor that must not live on in a forked child is registered, from its birth to its close (core/fds.c). Any thread; twice is fine. */
#ifndef INTERP_LIB_BASE_FDS_H
#define INTERP_LIB_BASE_FDS_H

void interp__fds_add(int fd);
void interp__fds_remove(int fd);
#endif
