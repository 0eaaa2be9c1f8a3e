# SPDX-License-Identifier: GPL-3.0-or-later
# nginx's pools (src/core/ngx_palloc.h).
probe alloc ngx_palloc size=2 nothrow
probe alloc ngx_pnalloc size=2 nothrow
probe alloc ngx_pcalloc size=2 nothrow
probe alloc ngx_pmemalign size=2 nothrow
probe free ngx_pfree ptr=2
