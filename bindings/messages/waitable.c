// SPDX-License-Identifier: Apache-2.0
/* What threads and tasks wait for, and how a task is woken. */
#include "messages.h"

PyTypeObject *waitable_type;

static PyObject *wake_name, *done_name, *set_result_name, *is_closed_name, *threadsafe_name;
static PyObject *settle_function;

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
	return 0;
}

int waitable_clear(PyObject *self)
{
	struct waitable *waitable = (struct waitable *)self;

	Py_CLEAR(waitable->waiters);
	Py_CLEAR(waitable->bell);
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

/* ---- futures ---- */

/* Sets a future's result if it has none yet, in its loop's thread. */
static PyObject *settle(PyObject *module, PyObject *future)
{
	PyObject *done = PyObject_CallMethodObjArgs(future, done_name, NULL);
	int is_done = done ? PyObject_IsTrue(done) : -1;

	(void)module;
	Py_XDECREF(done);
	if (is_done < 0)
		return NULL;
	if (is_done)
		return Py_NewRef(Py_None);
	return PyObject_CallMethodObjArgs(future, set_result_name, Py_None, NULL);
}

/* True for an error that says no more than that the loop is closed; it is forgotten. */
static bool was_closed(PyObject *loop)
{
	PyObject *type, *value, *traceback, *closed;
	bool is_closed;

	if (!PyErr_ExceptionMatches(PyExc_RuntimeError))
		return false;
	PyErr_Fetch(&type, &value, &traceback);
	closed = PyObject_CallMethodObjArgs(loop, is_closed_name, NULL);
	is_closed = closed && PyObject_IsTrue(closed) == 1;
	Py_XDECREF(closed);
	PyErr_Restore(type, value, traceback); /* also drops an error of the question */
	if (is_closed)
		PyErr_Clear();
	return is_closed;
}

int complete(PyObject *loop, unsigned long thread, PyObject *future)
{
	PyObject *result;

	if (PyThread_get_thread_ident() == thread)
		result = settle(NULL, future);
	else
		result = PyObject_CallMethodObjArgs(loop, threadsafe_name, settle_function, future,
						    NULL);
	if (!result)
		return was_closed(loop) ? 0 : -1;
	Py_DECREF(result);
	return 0;
}

static PyObject *complete_of(PyObject *module, PyObject *args)
{
	PyObject *loop, *future;
	unsigned long thread;

	(void)module;
	if (!PyArg_ParseTuple(args, "OkO:complete", &loop, &thread, &future))
		return NULL;
	return complete(loop, thread, future) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
	{ "complete", complete_of, METH_VARARGS,
	  "complete(loop, thread, future)\n--\n\n"
	  "Lets the task go on that awaits the future, if any does; from any thread." },
	{ "settle", settle, METH_O,
	  "settle(future)\n--\n\nThe same, in the loop's thread." },
	{ NULL, NULL, 0, NULL },
};

static int intern(PyObject **name, const char *text)
{
	*name = PyUnicode_InternFromString(text);
	return *name ? 0 : -1;
}

int waitable_add(PyObject *module)
{
	if (intern(&wake_name, "wake") < 0 || intern(&done_name, "done") < 0 ||
	    intern(&set_result_name, "set_result") < 0 ||
	    intern(&is_closed_name, "is_closed") < 0 ||
	    intern(&threadsafe_name, "call_soon_threadsafe") < 0)
		return -1;
	if (PyModule_AddFunctions(module, functions) < 0)
		return -1;
	settle_function = PyObject_GetAttrString(module, "settle");
	waitable_type = type_add(module, &waitable_spec, NULL);
	return settle_function && waitable_type ? 0 : -1;
}
