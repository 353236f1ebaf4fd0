// SPDX-License-Identifier: Apache-2.0
/* Requests under way: sent, and answered. */
#include "messages.h"

#include <errno.h>
#include <math.h>

#define PRIORITY_MAX 7

PyTypeObject *call_type;

static PyObject *handle_name;

/* Arguments are taken one by one: parsing by a format takes longer than all the rest. */
static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	Py_ssize_t count = PyTuple_Size(args);
	PyObject *inbox = count == 1 || count == 3 ? PyTuple_GetItem(args, 0) : NULL;
	struct call *self;

	if (!inbox || !PyObject_TypeCheck(inbox, inbox_type)) {
		PyErr_SetString(PyExc_TypeError, "sockets make calls: HomaSocket.start()");
		return NULL;
	}
	self = (struct call *)waitable_new(type, args, keywords);
	if (!self)
		return NULL;
	self->inbox = (struct inbox *)Py_NewRef(inbox);
	if (count == 1)
		return (PyObject *)self;
	self->future = Py_NewRef(PyTuple_GetItem(args, 1));
	self->loop = Py_NewRef(PyTuple_GetItem(args, 2));
	return (PyObject *)self;
}

static int call_traverse(PyObject *object, visitproc visit, void *arg)
{
	struct call *self = (struct call *)object;

	Py_VISIT(self->inbox);
	Py_VISIT(self->view);
	Py_VISIT(self->failure);
	Py_VISIT(self->owner);
	Py_VISIT(self->peer);
	Py_VISIT(self->port);
	Py_VISIT(self->until);
	Py_VISIT(self->future);
	Py_VISIT(self->loop);
	return waitable_traverse(object, visit, arg);
}

static int call_clear(PyObject *object)
{
	struct call *self = (struct call *)object;

	Py_CLEAR(self->view);
	Py_CLEAR(self->failure);
	Py_CLEAR(self->owner);
	Py_CLEAR(self->peer);
	Py_CLEAR(self->port);
	Py_CLEAR(self->until);
	Py_CLEAR(self->future);
	Py_CLEAR(self->loop);
	return waitable_clear(object);
}

static void call_dealloc(PyObject *object)
{
	PyObject_GC_UnTrack(object);
	call_clear(object);
	Py_CLEAR(((struct call *)object)->inbox);
	free_object(object);
}

/* ---- sending ---- */

/* Gives the call a key, under which its reply comes. */
static int give_key(struct call *self)
{
	unsigned long long key = ++self->inbox->keys & (ND_APP_KEY_OWN - 1);
	PyObject *number = PyLong_FromUnsignedLongLong(key);
	int code = number ? PyDict_SetItem(self->inbox->by_call, number, (PyObject *)self) : -1;

	Py_XDECREF(number);
	if (code == 0)
		self->key = key;
	return code;
}

/* A number of which the caller looks at the range: what is far out of it is -1. */
static int number_of(PyObject *object, long *number)
{
	int overflow;

	*number = PyLong_AsLongAndOverflow(object, &overflow);
	return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

static int handle_of(PyObject *peer, uint32_t *handle)
{
	PyObject *number = PyObject_GetAttr(peer, handle_name);

	if (!number)
		return -1;
	*handle = (uint32_t)PyLong_AsUnsignedLong(number);
	Py_DECREF(number);
	return PyErr_Occurred() ? -1 : 0;
}

static void set(PyObject **field, PyObject *value)
{
	PyObject *before = *field;

	*field = Py_NewRef(value);
	Py_XDECREF(before);
}

static int hand_over(struct call *self, uint8_t priority, uint32_t peer, uint16_t port,
		     double until, PyObject *data, bool later)
{
	struct inbox *inbox = self->inbox;
	PyObject *lender;
	Py_buffer view;
	int code;

	/* First: the data may be of a type whose code closes the socket, which ends calls with keys. */
	if ((!self->key && give_key(self) < 0) || PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
		return 0;
	if (self->failure || view.len > (Py_ssize_t)inbox->message_bytes_max) {
		PyBuffer_Release(&view);
		return self->failure ? -EBADF : -EMSGSIZE;
	}
	lender = lend(inbox, data, view.len);
	Py_BEGIN_ALLOW_THREADS
	code = inbox->verbs->ask(inbox->handle, priority, peer, port, self->key, until, view.buf,
				 (uint32_t)view.len, later, lender);
	Py_END_ALLOW_THREADS
	if (code >= 0)
		self->buffer = code;
	else
		unlend(inbox, lender);
	PyBuffer_Release(&view);
	return code;
}

static PyObject *ask(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
	struct call *self = (struct call *)object;
	double until = INFINITY;
	long port, priority, later;
	uint32_t peer;
	int code;

	if (count != 7) {
		PyErr_SetString(PyExc_TypeError, "ask() takes 7 arguments");
		return NULL;
	}
	if (number_of(args[2], &port) < 0 || number_of(args[5], &priority) < 0 ||
	    handle_of(args[1], &peer) < 0)
		return NULL;
	if (args[4] != Py_None)
		until = PyFloat_AsDouble(args[4]);
	later = PyObject_IsTrue(args[6]);
	if (PyErr_Occurred())
		return NULL;
	if (self->inbox->ended)
		return PyLong_FromLong(-EBADF);
	if (port <= 0 || port > UINT16_MAX || priority < 0 || priority > PRIORITY_MAX)
		return PyLong_FromLong(-EINVAL);
	set(&self->owner, args[0]);
	set(&self->peer, args[1]);
	set(&self->port, args[2]);
	set(&self->until, args[4]);
	code = hand_over(self, (uint8_t)priority, peer, (uint16_t)port, until, args[3], later);
	return PyErr_Occurred() ? NULL : PyLong_FromLong(code);
}

/* ---- the reply ---- */

int call_arrived(struct call *self, struct inbox *inbox, const struct nd_event *event)
{
	struct lease *loan;
	PyObject *view, *key;
	int code;

	self->id = event->id;
	if (!self->view && !self->failure && !inbox->owned) {
		view = view_of(inbox, event, &loan);
		if (!view)
			return -1;
		self->view = view;
		keep(inbox, loan);
	}
	/* First: an event that was interrupted finds the call again as long as it can. */
	if ((self->future ? complete(self->loop, self->future) : waitable_wake(&self->waitable)) <
	    0)
		return -1;
	key = PyLong_FromUnsignedLongLong(self->key);
	code = key ? forget(inbox->by_call, key) : -1;
	Py_XDECREF(key);
	if (code < 0)
		return -1;
	/* Last: the event names no call any more after this. */
	if (!inbox->owned)
		inbox->verbs->drop(inbox->handle, &inbox->events[inbox->at]);
	return 0;
}

static PyObject *complete_call(PyObject *object, PyObject *unused)
{
	struct call *self = (struct call *)object;

	(void)unused;
	if (self->future && complete(self->loop, self->future) < 0)
		return NULL;
	return PyBool_FromLong(self->future != NULL);
}

static PyMemberDef call_members[] = {
	{ "_dispatcher", T_OBJECT_EX, offsetof(struct call, inbox), READONLY, NULL },
	{ "_id", T_ULONGLONG, offsetof(struct call, id), 0, NULL },
	{ "_failure", T_OBJECT, offsetof(struct call, failure), 0, NULL },
	{ "view", T_OBJECT, offsetof(struct call, view), 0, "The reply." },
	{ "key", T_ULONGLONG, offsetof(struct call, key), 0,
	  "What the core's events about it carry; 0: nothing was sent." },
	{ "buffer", T_INT, offsetof(struct call, buffer), 0,
	  "Which one of the core's it was sent from; that and the key name it." },
	{ "owner", T_OBJECT, offsetof(struct call, owner), 0, "Names its socket." },
	{ "peer", T_OBJECT_EX, offsetof(struct call, peer), 0, "Who is asked." },
	{ "port", T_OBJECT_EX, offsetof(struct call, port), 0, "Where." },
	{ "until", T_OBJECT_EX, offsetof(struct call, until), 0, "When to give up, or None." },
	{ NULL, 0, 0, 0, NULL },
};

static PyMethodDef call_methods[] = {
	{ "ask", (PyCFunction)(void (*)(void))ask, METH_FASTCALL,
	  "ask($self, owner, peer, port, data, until, priority, later, /)\n--\n\n"
	  "Sends the request if there is room, and it can be one; a negative error number if not." },
	{ "complete", complete_call, METH_NOARGS,
	  "complete($self, /)\n--\n\nLets the task go on that awaits it; false: none does." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot call_slots[] = {
	{ Py_tp_doc, "Call(inbox, future=None, loop=None)\n--\n\nA request under way." },
	{ Py_tp_new, call_new },
	{ Py_tp_dealloc, call_dealloc },
	{ Py_tp_traverse, call_traverse },
	{ Py_tp_clear, call_clear },
	{ Py_tp_members, call_members },
	{ Py_tp_methods, call_methods },
	{ 0, NULL },
};

static PyType_Spec call_spec = {
	.name = "ndpstack._messages.Call",
	.basicsize = sizeof(struct call),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = call_slots,
};

int call_add(PyObject *module)
{
	handle_name = PyUnicode_InternFromString("handle");
	call_type = type_add(module, &call_spec, waitable_type);
	return handle_name && call_type ? 0 : -1;
}
