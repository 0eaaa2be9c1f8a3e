# SPDX-License-Identifier: GPL-3.0-or-later
# The pools of Apache's portable runtime (apr_pools.h).
probe alloc apr_palloc size=2 nothrow
catch {probe alloc apr_pcalloc size=2 nothrow}
