/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A struct out whose text the test reads when it is finished. */
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "report/out.h"
#include "unit.h"

static inline void text_out_init(struct out *out)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_PTR_NULL_FATAL(out_init_fd(out, fd, "text"));
}

static inline void text_out_finish(struct out *out, struct str *text)
{
	char buf[4096];
	ssize_t len;

	CU_ASSERT_PTR_NULL(out_finish(out));
	CU_ASSERT_EQUAL(lseek(out->fd, 0, SEEK_SET), 0);
	while ((len = read(out->fd, buf, sizeof(buf))) > 0)
		CU_ASSERT_PTR_NULL_FATAL(str_add_bytes(text, buf, (size_t)len));
	close(out->fd);
}
