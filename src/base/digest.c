/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 by liblzma (digest.h). */

#include "base/digest.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct err *digest_make(const void *bytes, size_t len, uint8_t ret[DIGEST_BYTES])
{
	size_t room = lzma_block_buffer_bound(len), made = 0;
	AUTO_FREE uint8_t *block = NULL;
	lzma_filter filters[] = { { .id = LZMA_VLI_UNKNOWN } };
	lzma_block how = { .check = LZMA_CHECK_SHA256, .filters = filters };
	lzma_ret code;

	if (!room)
		return err_create(ERR_RANGE, "SHA-256: %zu bytes", len);
	block = malloc(room);
	if (!block)
		return err_nomem;
	code = lzma_block_uncomp_encode(&how, bytes, len, block, &made, room);
	if (code == LZMA_MEM_ERROR)
		return err_nomem;
	if (code != LZMA_OK)
		return err_create(ERR_UNSUPPORTED, "SHA-256: error %d of liblzma", (int)code);
	memcpy(ret, how.raw_check, DIGEST_BYTES);
	return NULL;
}
