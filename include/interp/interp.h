/* interp.h - libinterp: run model-written code in a sandbox, from any program.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_INTERP_H
#define INTERP_INTERP_H
#include <interp/base.h>
#include <interp/config.h>
#include <interp/audit.h>
#include <interp/files.h>
#include <interp/redact.h>
#include <interp/session.h>
#include <interp/result.h>
#endif
