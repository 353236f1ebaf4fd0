// SPDX-License-Identifier: Apache-2.0
/* What threads and tasks wait for. */
#include "messages.h"

PyTypeObject *waitable_type;

static PyObject *wake_name;

void free_object(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	release(self);
	Py_DECREF(type);
}

PyTypeObject *type_add(PyObject *module, PyType_Spec *spec, PyTypeObject *base)
{
	PyObject *type = PyType_FromSpecWithBases(spec, (PyObject *)base);

	if (type && PyModule_AddType(module, (PyTypeObject *)type) < 0)
		Py_CLEAR(type);
	return (PyTypeObject *)type;
}

/* ---- Waitable ---- */

PyObject *waitable_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	struct waitable *self = (struct waitable *)PyType_GenericAlloc(type, 0);

	(void)args, (void)keywords;
	if (self && !(self->waiters = PyList_New(0)))
		Py_CLEAR(self);
	return (PyObject *)self;
}

int waitable_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct waitable *waitable = (struct waitable *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(waitable->waiters);
	Py_VISIT(waitable->bell);
	Py_VISIT(waitable->raised);
	return 0;
}

int waitable_clear(PyObject *self)
{
	struct waitable *waitable = (struct waitable *)self;

	Py_CLEAR(waitable->waiters);
	Py_CLEAR(waitable->bell);
	Py_CLEAR(waitable->raised);
	return 0;
}

static void waitable_dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	waitable_clear(self);
	free_object(self);
}

int waitable_wake(struct waitable *waitable)
{
	PyObject *result;

	if (!waitable->bell && (!waitable->waiters || PyList_Size(waitable->waiters) == 0))
		return 0;
	result = PyObject_CallMethodObjArgs((PyObject *)waitable, wake_name, NULL);
	Py_XDECREF(result);
	return result ? 0 : -1;
}

static PyMemberDef waitable_members[] = {
	{ "waiters", T_OBJECT_EX, offsetof(struct waitable, waiters), READONLY,
	  "Called when it may have become ready." },
	{ "_bell", T_OBJECT, offsetof(struct waitable, bell), 0, NULL },
	{ "_raised", T_OBJECT, offsetof(struct waitable, raised), 0, NULL },
	{ NULL, 0, 0, 0, NULL },
};

static PyType_Slot waitable_slots[] = {
	{ Py_tp_doc, "Something that a thread or a task waits for." },
	{ Py_tp_new, waitable_new },
	{ Py_tp_dealloc, waitable_dealloc },
	{ Py_tp_traverse, waitable_traverse },
	{ Py_tp_clear, waitable_clear },
	{ Py_tp_members, waitable_members },
	{ 0, NULL },
};

static PyType_Spec waitable_spec = {
	.name = "ndpstack._messages.Waitable",
	.basicsize = sizeof(struct waitable),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = waitable_slots,
};

int waitable_add(PyObject *module)
{
	wake_name = PyUnicode_InternFromString("wake");
	waitable_type = type_add(module, &waitable_spec, NULL);
	return wake_name && waitable_type ? 0 : -1;
}
