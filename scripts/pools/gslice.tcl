# SPDX-License-Identifier: GPL-3.0-or-later
# GLib's slices (glib/gslice.c): objects of GObject, lists, hash tables' nodes. A list is freed by one call.
probe alloc g_slice_alloc size=1 nothrow
probe free g_slice_free1 ptr=2
probe free g_slice_free_chain_with_offset ptr=2 next=3
