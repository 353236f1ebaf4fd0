// SPDX-License-Identifier: Apache-2.0
/* Received messages: copied when small, else lent from the stack. */
#include "messages.h"

PyTypeObject *lease_type;

/* Of the message that an event brought. */
static struct lease *lease_make(struct inbox *inbox, const struct nd_event *event)
{
	struct lease *self = (struct lease *)PyType_GenericAlloc(lease_type, 0);

	if (!self)
		return NULL;
	self->app = Py_NewRef(inbox->app);
	self->handle = inbox->handle;
	self->verbs = inbox->verbs;
	self->protocol = event->protocol;
	self->id = event->id;
	self->message = event->message;
	self->bytes = event->bytes;
	self->payload = event->payload;
	return self;
}

static PyObject *lease_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	unsigned long long id, message, payload;
	struct nd_event event = { 0 };
	PyObject *inbox;

	(void)type, (void)keywords;
	if (!PyArg_ParseTuple(args, "O!bKKIK:Lease", inbox_type, &inbox, &event.protocol, &id,
			      &message, &event.bytes, &payload))
		return NULL;
	event.id = id;
	event.message = message;
	event.payload = (void *)(uintptr_t)payload;
	return (PyObject *)lease_make((struct inbox *)inbox, &event);
}

static void lease_dealloc(PyObject *object)
{
	struct lease *self = (struct lease *)object;

	if (self->held) {
		Py_BEGIN_ALLOW_THREADS
		self->verbs->release(self->handle, self->protocol, self->id, self->message);
		Py_END_ALLOW_THREADS
	}
	Py_XDECREF(self->app);
	free_object(object);
}

static int lease_buffer(PyObject *object, Py_buffer *view, int flags)
{
	struct lease *self = (struct lease *)object;

	return PyBuffer_FillInfo(view, object, self->payload, self->bytes, 0, flags);
}

PyObject *view_of(struct inbox *inbox, const struct nd_event *event, struct lease **loan)
{
	PyObject *memory, *view;

	*loan = NULL;
	if (event->bytes <= ND_APP_COPY_BYTES) {
		memory = PyByteArray_FromStringAndSize((const char *)event->payload, event->bytes);
	} else {
		*loan = lease_make(inbox, event);
		memory = (PyObject *)*loan;
	}
	view = memory ? PyMemoryView_FromObject(memory) : NULL;
	if (!*loan || !view)
		Py_XDECREF(memory);
	return view;
}

void keep(struct inbox *inbox, struct lease *loan)
{
	inbox->owned = true;
	if (!loan)
		return;
	loan->held = true;
	Py_DECREF(loan);
}

static PyMemberDef lease_members[] = {
	{ "held", T_BOOL, offsetof(struct lease, held), 0,
	  "The view belongs to an owner: the message is given back when it is gone." },
	{ NULL, 0, 0, 0, NULL },
};

static PyType_Slot lease_slots[] = {
	{ Py_tp_doc, "Lease(inbox, protocol, identity, message, size, payload)\n--\n\n"
		     "The bytes of a received message, given back when nothing refers to them." },
	{ Py_tp_new, lease_new },
	{ Py_tp_dealloc, lease_dealloc },
	{ Py_tp_members, lease_members },
	{ Py_bf_getbuffer, lease_buffer },
	{ 0, NULL },
};

static PyType_Spec lease_spec = {
	.name = "ndpstack._messages.Lease",
	.basicsize = sizeof(struct lease),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = lease_slots,
};

int lease_add(PyObject *module)
{
	lease_type = type_add(module, &lease_spec, NULL);
	return lease_type ? 0 : -1;
}
