// SPDX-License-Identifier: Apache-2.0
/* The module ndpstack._messages. */
#include "messages.h"

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "ndpstack._messages",
	.m_doc = "What each message of Homa's costs in Python: bases of classes there.",
	.m_size = -1, /* one interpreter, as of ndpstack._core */
};

PyMODINIT_FUNC PyInit__messages(void);

PyMODINIT_FUNC PyInit__messages(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (module && (future_add(module) < 0 || waitable_add(module) < 0 || inbox_add(module) < 0 || lease_add(module) < 0 ||
		       call_add(module) < 0 || request_add(module) < 0))
		Py_CLEAR(module);
	return module;
}
