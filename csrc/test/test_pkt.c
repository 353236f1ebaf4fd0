// SPDX-License-Identifier: Apache-2.0
/* Runs packet scripts: one endpoint, alone, in virtual time (see pkt/README.md). */
#include "test/pkt_fields.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 40
#define VARIABLES_MAX 16
#define SELF 0u
#define LINK_BPS UINT64_C(10000000000)

struct variable {
	char name[24];
	uint64_t value;
};

static struct {
	const char *file;
	int line;
	uint8_t protocol;
	const struct nd_transport_ops *ops;
	union {
		struct nd_homa_config homa;
		struct nd_ndp_config ndp;
	} config;
	struct nd_rx_memory rx;
	uint64_t credit; /* bytes that applications may hold */
	void *endpoint;
	nd_ns now;
	struct variable variables[VARIABLES_MAX];
	unsigned variable_count;
} script;

__attribute__((format(printf, 1, 2))) static _Noreturn void wrong(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s:%d: ", script.file, script.line);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t read_field(const void *base, const struct field *field)
{
	uint64_t value = 0;

	memcpy(&value, (const uint8_t *)base + field->offset, field->bytes);
	return value;
}

static void write_field(void *base, const struct field *field, uint64_t value)
{
	memcpy((uint8_t *)base + field->offset, &value, field->bytes);
}

/* A number, perhaps with a unit of time. */
static uint64_t number(const char *text)
{
	static const struct word units[] = {
		{ "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
		{ NULL, 0 },
	};
	const struct word *unit;
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	unit = find_word(units, end);
	if (end == text || !unit)
		wrong("'%s' is no number", text);
	return value * unit->value;
}

static struct variable *variable(const char *name, size_t length)
{
	for (unsigned i = 0; i < script.variable_count; i++) {
		if (strlen(script.variables[i].name) == length &&
		    !strncmp(script.variables[i].name, name, length))
			return &script.variables[i];
	}
	return NULL;
}

/* True with *value when the text is known; a variable that is not bound yet gives false. */
static bool evaluate(const char *text, uint64_t *value)
{
	size_t length = strcspn(text, "^");
	struct variable *found;

	if (*text != '$') {
		*value = number(text);
		return true;
	}
	found = variable(text + 1, length - 1);
	if (!found)
		return false;
	*value = found->value ^ (text[length] == '^' ? number(text + length + 1) : 0);
	return true;
}

static void bind(const char *text, uint64_t value)
{
	struct variable *fresh = &script.variables[script.variable_count++];
	size_t length = strcspn(text, "^");

	if (script.variable_count > VARIABLES_MAX || length > sizeof(fresh->name))
		wrong("too many variables, or too long a name");
	memset(fresh->name, 0, sizeof(fresh->name));
	memcpy(fresh->name, text + 1, length - 1);
	fresh->value = value ^ (text[length] == '^' ? number(text + length + 1) : 0);
}

/* Compares what is with what the script says, or binds its variable. */
static void expect(const char *name, uint64_t is, const char *text)
{
	uint64_t should_be;

	if (!evaluate(text, &should_be)) {
		bind(text, is);
		return;
	}
	if (is != should_be)
		wrong("%s is %llu, not %llu", name, (unsigned long long)is,
		      (unsigned long long)should_be);
}

/* `name!=value`: it must differ. */
static void expect_not(const char *name, uint64_t is, const char *text)
{
	uint64_t other;

	if (!evaluate(text, &other))
		wrong("%s: '%s' is not bound yet", name, text);
	if (is == other)
		wrong("%s is %llu", name, (unsigned long long)is);
}

static const struct word *types(void)
{
	return script.protocol == ND_PROTO_NDP ? ndp_types : homa_types;
}

static const char *type_name(uint8_t type)
{
	for (const struct word *word = types(); word->name; word++) {
		if (word->value == type)
			return word->name;
	}
	return "?";
}

/* The byte of a packet that a flag or mark lives in, with its bit. */
static uint8_t *flag_of(struct nd_packet *packet, const char *name, uint8_t *bit)
{
	const struct word *word = find_word(mark_words, name);

	if (word) {
		*bit = (uint8_t)word->value;
		return &packet->marks;
	}
	word = script.protocol == ND_PROTO_NDP ? find_word(ndp_flags, name) : NULL;
	if (!word)
		wrong("there is no flag or mark '%s'", name);
	*bit = (uint8_t)word->value;
	return &packet->flags;
}

static bool is_data(const struct nd_packet *packet)
{
	return packet->type == (script.protocol == ND_PROTO_NDP ? ND_NDP_DATA : ND_HOMA_DATA);
}

/* Sets one `name=value` of a packet that arrives. */
static void set_packet_field(struct nd_packet *packet, char *name, const char *text)
{
	const struct field *field = find_field(packet_fields, name, script.protocol);
	uint64_t value;

	if (!evaluate(text, &value))
		wrong("%s: '%s' is not bound yet", name, text);
	if (!strcmp(name, "peer"))
		packet->source = (uint32_t)value;
	else if (field)
		write_field(packet, field, value);
	else
		wrong("packets of this protocol have no field '%s'", name);
}

static void arrive(char **words, unsigned count)
{
	struct nd_packet packet = { .protocol = script.protocol, .target = SELF };
	const struct word *type = count ? find_word(types(), words[0]) : NULL;
	bool trimmed = false;

	if (!type)
		wrong("a packet needs a type");
	packet.type = (uint8_t)type->value;
	packet.marks = is_data(&packet) ? 0 : ND_MARK_CONTROL;
	for (unsigned i = 1; i < count; i++) {
		char *equals = strchr(words[i], '=');
		uint8_t bit;

		if (equals) {
			*equals = '\0';
			set_packet_field(&packet, words[i], equals + 1);
		} else if (!strcmp(words[i], "TRIMMED")) {
			trimmed = true;
		} else {
			uint8_t *flags = flag_of(&packet, words[i], &bit);

			*flags |= bit;
		}
	}
	packet.header_bytes = 64;
	packet.wire_bytes = (uint16_t)(64 + packet.payload_bytes);
	if (trimmed)
		nd_packet_trim(&packet);
	script.ops->receive(script.endpoint, &packet, script.now);
}

/* Compares one `name=value` or `name!=value` of a packet that leaves. */
static void check_field(const struct nd_packet *packet, char *name, char *equals)
{
	bool is_not = equals > name && equals[-1] == '!';
	void (*compare)(const char *, uint64_t, const char *) = is_not ? expect_not : expect;
	const struct field *field;

	equals[-is_not] = '\0';
	field = find_field(packet_fields, name, script.protocol);
	if (!strcmp(name, "peer"))
		compare(name, packet->target, equals + 1);
	else if (field)
		compare(name, read_field(packet, field), equals + 1);
	else
		wrong("packets of this protocol have no field '%s'", name);
}

/* Compares one `FLAG` or `!FLAG`. */
static void check_flag(struct nd_packet *packet, const char *word)
{
	bool is_not = word[0] == '!';
	uint8_t bit;
	const uint8_t *flags = flag_of(packet, word + is_not, &bit);

	if (((*flags & bit) != 0) == is_not)
		wrong("%s is%s set", word + is_not, is_not ? "" : " not");
}

static void depart(char **words, unsigned count)
{
	struct nd_packet packet = { 0 };
	bool is = script.ops->transmit(script.endpoint, &packet, ND_CLASS_CONTROL, script.now) ||
		  script.ops->transmit(script.endpoint, &packet, ND_CLASS_DATA, script.now);

	if (count == 1 && !strcmp(words[0], "none")) {
		if (is)
			wrong("it sends %s to peer %u", type_name(packet.type), packet.target);
		return;
	}
	if (!is)
		wrong("it sends nothing");
	if (strcmp(words[0], type_name(packet.type)) != 0)
		wrong("it sends %s, not %s", type_name(packet.type), words[0]);
	for (unsigned i = 1; i < count; i++) {
		char *equals = strchr(words[i], '=');

		if (equals)
			check_field(&packet, words[i], equals);
		else
			check_flag(&packet, words[i]);
	}
}

static int error_of(const char *name)
{
	const struct word *word = find_word(errors, name);

	if (!word)
		wrong("there is no error '%s'", name);
	return -(int)word->value;
}

static void submit(char **words, unsigned count)
{
	struct nd_command command = { .deadline = ND_NEVER };
	const struct word *kind = count ? find_word(command_kinds, words[0]) : NULL;
	const char *bound[4];
	const struct field *bound_field[4];
	unsigned bound_count = 0;
	int expected = 0;
	int status;

	if (!kind)
		wrong("there is no command '%s'", count ? words[0] : "");
	command.kind = (uint8_t)kind->value;
	for (unsigned i = 1; i < count; i++) {
		char *equals = strchr(words[i], '=');
		const struct field *field;
		uint64_t value;

		if (!strcmp(words[i], "=") && i + 2 == count) {
			expected = error_of(words[++i]);
			break;
		}
		if (!equals)
			wrong("'%s' is no name=value", words[i]);
		*equals = '\0';
		field = find_field(command_fields, words[i], 0);
		if (!field)
			wrong("commands have no field '%s'", words[i]);
		if (evaluate(equals + 1, &value)) {
			write_field(&command, field, value);
		} else if (bound_count < ND_ARRAY_SIZE(bound)) {
			bound_field[bound_count] = field;
			bound[bound_count++] = equals + 1;
		}
	}
	status = script.ops->submit(script.endpoint, &command, script.now);
	if (status != expected)
		wrong("the command returns %d, not %d", status, expected);
	for (unsigned i = 0; i < bound_count; i++)
		bind(bound[i], read_field(&command, bound_field[i]));
}

static void report(char **words, unsigned count)
{
	struct nd_event event = { 0 };
	bool is = script.ops->events(script.endpoint, &event, 1) == 1;
	const struct word *kind = find_word(event_kinds, words[0]);

	if (count == 1 && !strcmp(words[0], "none")) {
		if (is)
			wrong("it reports event %u about id %llu", event.kind,
			      (unsigned long long)event.id);
		return;
	}
	if (!kind)
		wrong("there is no event '%s'", words[0]);
	if (!is)
		wrong("it reports nothing");
	if (event.kind != kind->value)
		wrong("it reports event %u, not %s", event.kind, words[0]);
	for (unsigned i = 1; i < count; i++) {
		char *equals = strchr(words[i], '=');
		const struct field *field;

		if (!equals)
			wrong("'%s' is no name=value", words[i]);
		*equals = '\0';
		field = find_field(event_fields, words[i], 0);
		if (!strcmp(words[i], "error")) {
			if (event.error != error_of(equals + 1))
				wrong("the error is %d, not %s", event.error, equals + 1);
		} else if (field) {
			expect(words[i], read_field(&event, field), equals + 1);
		} else {
			wrong("events have no field '%s'", words[i]);
		}
	}
}

/* ---- memory for received messages: it is counted, not there ---- */

static uint8_t block[1 << 16];

static uint8_t *get_memory(void *context, uint16_t app, uint32_t bytes)
{
	(void)context;
	(void)app;
	if (bytes > script.credit)
		return NULL;
	script.credit -= bytes;
	return block;
}

static void put_memory(void *context, uint16_t app, uint8_t *memory, uint32_t bytes)
{
	(void)context;
	(void)app;
	(void)memory;
	script.credit += bytes;
}

static void make_endpoint(void)
{
	struct nd_setup setup = { .seed = 1, .self = SELF, .config = &script.config };
	const char *why = "";

	if (script.credit != UINT64_MAX)
		setup.rx = &script.rx;
	if (script.ops->check(setup.config, &why) < 0)
		wrong("the config is refused: %s", why);
	script.endpoint = aligned_alloc(64, (script.ops->bytes(setup.config) + 63) & ~(size_t)63);
	nd_assert(script.endpoint);
	memset(script.endpoint, 0, script.ops->bytes(setup.config));
	script.ops->init(script.endpoint, &setup);
}

/* Lets time pass up to `until`, serving deadlines at their own times. */
static void advance(nd_ns until)
{
	if (until < script.now)
		wrong("time goes back");
	for (unsigned steps = 0; script.ops->deadline(script.endpoint) <= until; steps++) {
		nd_ns deadline = script.ops->deadline(script.endpoint);

		if (steps == 1000000)
			wrong("a deadline at %llu ns is served again and again",
			      (unsigned long long)deadline);
		script.now = nd_max_u64(script.now, deadline);
		script.ops->on_deadline(script.endpoint, script.now);
		if (script.ops->deadline(script.endpoint) <= script.now)
			break; /* it waits for transmit, not for time */
	}
	script.now = until;
}

static void choose_protocol(const char *name)
{
	if (!strcmp(name, "homa")) {
		script.protocol = ND_PROTO_HOMA;
		script.ops = &nd_homa_ops;
		script.config.homa = nd_homa_config_default(LINK_BPS, 1500);
		script.config.homa.first_id = 2;
	} else if (!strcmp(name, "ndp")) {
		script.protocol = ND_PROTO_NDP;
		script.ops = &nd_ndp_ops;
		script.config.ndp = nd_ndp_config_default(LINK_BPS, 1500);
		/* Round numbers: a full packet takes 1 us. */
		script.config.ndp.mss_bytes = 1000;
		script.config.ndp.data_header_bytes = 250;
		script.config.ndp.initial_window = 4;
		script.config.ndp.paths = 4;
		script.config.ndp.keepalive_ns = 0;
	} else {
		wrong("there is no protocol '%s'", name);
	}
}

static void set_up(char **words, unsigned count)
{
	const struct field *field;

	if (count == 2 && !strcmp(words[0], "protocol")) {
		choose_protocol(words[1]);
	} else if (count == 2 && !strcmp(words[0], "credit")) {
		script.credit = number(words[1]);
	} else if (count == 3 && !strcmp(words[0], "config") && script.ops) {
		field = find_field(config_fields, words[1], script.protocol);
		if (!field)
			wrong("scripts know no config field '%s'; add it to pkt_fields.h",
			      words[1]);
		write_field(&script.config, field, number(words[2]));
	} else {
		wrong("this is neither 'protocol NAME', 'config FIELD VALUE', 'credit BYTES' nor a time");
	}
}

static void run_line(char **words, unsigned count)
{
	bool relative = words[0][0] == '+';
	const char *wrong_state;

	if (isalpha((unsigned char)words[0][0])) {
		set_up(words, count);
		return;
	}
	if (!script.ops || count < 3)
		wrong("a line is a time, one of ! < > *, and what happens");
	if (!script.endpoint)
		make_endpoint();
	advance(number(words[0] + relative) + (relative ? script.now : 0));
	switch (words[1][0]) {
	case '!':
		submit(words + 2, count - 2);
		break;
	case '<':
		arrive(words + 2, count - 2);
		break;
	case '>':
		depart(words + 2, count - 2);
		break;
	case '*':
		report(words + 2, count - 2);
		break;
	default:
		wrong("'%s' is none of ! < > *", words[1]);
	}
	wrong_state = script.ops->audit(script.endpoint);
	if (wrong_state)
		wrong("the audit finds: %s", wrong_state);
}

static void run_script(const char *path)
{
	FILE *file = fopen(path, "r");
	char text[512];

	memset(&script, 0, sizeof(script));
	script.file = path;
	script.credit = UINT64_MAX;
	script.rx = (struct nd_rx_memory){ .get = get_memory, .put = put_memory };
	if (!file)
		wrong("cannot be opened");
	while (fgets(text, sizeof(text), file)) {
		char *words[WORDS_MAX];
		unsigned count = 0;

		script.line++;
		text[strcspn(text, "#")] = '\0';
		for (char *word = strtok(text, " \t\r\n"); word && count < WORDS_MAX;
		     word = strtok(NULL, " \t\r\n"))
			words[count++] = word;
		if (count)
			run_line(words, count);
	}
	fclose(file);
	free(script.endpoint);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_script(argv[i]);
	printf("%d passed\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
