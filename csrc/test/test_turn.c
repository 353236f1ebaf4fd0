// SPDX-License-Identifier: Apache-2.0
/* Whose turn it is: every state, alone and with an owner that waits in a thread of its own. */
#include "host/turn.h"
#include "test/harness.h"

#include <time.h>
#include <unistd.h>

#define PATIENCE (10 * ND_SEC)

static struct nd_turn turn;

static nd_ns clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (nd_ns)now.tv_sec * ND_SEC + (nd_ns)now.tv_nsec;
}

static bool answer(void *context)
{
	CHECK_EQ(nd_turn_state(&turn), ND_TURN_LEFT);
	return *(bool *)context;
}

static bool give_back(bool more)
{
	return nd_turn_give_back(&turn, answer, &more);
}

/* The owner blocks, and does not know yet that it was borrowed. */
static void borrow_first(void)
{
	nd_turn_init(&turn);
	nd_turn_lend(&turn);
	CHECK(nd_turn_borrow(&turn));
}

TEST(nd_turn_borrow__when_the_owner_blocks_and_nobody_else_has_it)
{
	nd_turn_init(&turn);
	CHECK(!nd_turn_borrow(&turn));
	nd_turn_lend(&turn);
	CHECK(nd_turn_borrow(&turn));
	CHECK_EQ(nd_turn_state(&turn), ND_TURN_LENT);
	CHECK(!nd_turn_borrow(&turn));
	CHECK(give_back(false));
	CHECK(nd_turn_borrow(&turn));
	CHECK(give_back(false));
	nd_turn_free(&turn);
}

TEST(nd_turn_resume__when_nobody_borrowed)
{
	nd_turn_init(&turn);
	nd_turn_lend(&turn);
	CHECK(!nd_turn_resume(&turn, false));
	CHECK_EQ(nd_turn_state(&turn), ND_TURN_OWN);
	nd_turn_free(&turn);
}

TEST(nd_turn_resume__after_a_tick_in_which_nobody_came_back)
{
	nd_ns start;

	borrow_first();
	start = clock_now();
	CHECK(give_back(false));
	CHECK(nd_turn_resume(&turn, false));
	CHECK(clock_now() - start >= ND_TURN_TICK);
	CHECK_EQ(nd_turn_state(&turn), ND_TURN_OWN);
	nd_turn_free(&turn);
}

TEST(nd_turn_give_back__recalls_the_owner_if_there_is_more)
{
	borrow_first();
	CHECK(give_back(true));
	CHECK(!nd_turn_borrow(&turn));
	CHECK(nd_turn_resume(&turn, false));
	CHECK_EQ(nd_turn_state(&turn), ND_TURN_OWN);
	CHECK(!turn.recalled);
	nd_turn_free(&turn);
}

TEST(nd_turn_recall__only_where_nobody_watches)
{
	nd_turn_init(&turn);
	nd_turn_recall(&turn);
	nd_turn_lend(&turn);
	nd_turn_recall(&turn);
	CHECK(nd_turn_borrow(&turn));
	nd_turn_recall(&turn);
	CHECK(give_back(false));
	CHECK(nd_turn_borrow(&turn));
	CHECK(give_back(false));
	nd_turn_recall(&turn);
	CHECK(!nd_turn_borrow(&turn));
	CHECK(nd_turn_resume(&turn, false));
	nd_turn_free(&turn);
}

/* ---- an event loop that goes first ---- */

TEST(nd_turn_resume__lets_a_loop_go_first)
{
	nd_ns start = clock_now();

	nd_turn_init(&turn);
	nd_turn_set_watched(&turn, true);
	nd_turn_lend(&turn);
	CHECK(!nd_turn_resume(&turn, true)); /* it does not come */
	CHECK(clock_now() - start >= ND_TURN_TICK);
	CHECK(!nd_turn_is_watched(&turn));
	nd_turn_free(&turn);
}

/* What the owner was woken by is its own business: nothing tells the loop of it. */
TEST(nd_turn_resume__after_its_own_timer)
{
	nd_turn_init(&turn);
	nd_turn_set_watched(&turn, true);
	nd_turn_lend(&turn);
	CHECK(!nd_turn_resume(&turn, false));
	CHECK(nd_turn_is_watched(&turn));
	nd_turn_free(&turn);
}

TEST(nd_turn_recall__of_an_owner_that_would_let_a_loop_go_first)
{
	nd_turn_init(&turn);
	nd_turn_set_watched(&turn, true);
	nd_turn_lend(&turn);
	nd_turn_recall(&turn);
	CHECK(!nd_turn_borrow(&turn));
	CHECK(!nd_turn_resume(&turn, true));
	CHECK(nd_turn_is_watched(&turn));
	CHECK(!turn.recalled);
	nd_turn_free(&turn);
}

/* ---- with an owner in a thread ---- */

static bool resumed;

static void *own(void *unused)
{
	CHECK(nd_turn_resume(&turn, false));
	__atomic_store_n(&resumed, true, __ATOMIC_RELEASE);
	return unused;
}

/* Waits until the owner waits for however long the borrower stays. */
static void await_patience(void)
{
	nd_ns end = clock_now() + PATIENCE;
	bool patient;

	do {
		CHECK(clock_now() < end);
		usleep(100);
		pthread_mutex_lock(&turn.mutex);
		patient = turn.parked && turn.patient;
		pthread_mutex_unlock(&turn.mutex);
	} while (!patient);
}

static pthread_t start_owner(void)
{
	pthread_t thread;

	resumed = false;
	CHECK_EQ(pthread_create(&thread, NULL, own, NULL), 0);
	return thread;
}

TEST(nd_turn_resume__waits_for_a_borrower_that_stays)
{
	pthread_t owner;

	borrow_first();
	owner = start_owner();
	await_patience();
	CHECK(!__atomic_load_n(&resumed, __ATOMIC_ACQUIRE));
	CHECK(!give_back(false)); /* it is parked: nothing else is to be ended */
	CHECK_EQ(pthread_join(owner, NULL), 0);
	CHECK_EQ(nd_turn_state(&turn), ND_TURN_OWN);
	nd_turn_free(&turn);
}

TEST(nd_turn_give_back__wakes_an_owner_that_is_patient)
{
	pthread_t owner;

	borrow_first();
	owner = start_owner();
	await_patience();
	CHECK(!give_back(true));
	CHECK_EQ(pthread_join(owner, NULL), 0);
	CHECK(!turn.patient);
	nd_turn_free(&turn);
}

static void *own_watched(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)nd_turn_resume(&turn, true);
}

static bool is_awake(void)
{
	bool awake;

	pthread_mutex_lock(&turn.mutex);
	awake = turn.parked || turn.state == ND_TURN_OWN;
	pthread_mutex_unlock(&turn.mutex);
	return awake;
}

/* Both are woken: true when the loop came within a tick. */
static bool wake_both(void)
{
	pthread_t owner;
	bool borrowed;
	void *result;

	nd_turn_init(&turn);
	nd_turn_set_watched(&turn, true);
	nd_turn_lend(&turn);
	CHECK_EQ(pthread_create(&owner, NULL, own_watched, NULL), 0);
	while (!is_awake())
		sched_yield();
	borrowed = nd_turn_borrow(&turn);
	if (borrowed)
		CHECK(!give_back(false));
	CHECK_EQ(pthread_join(owner, &result), 0);
	CHECK_EQ(result != NULL, borrowed);
	CHECK_EQ(nd_turn_is_watched(&turn), borrowed);
	nd_turn_free(&turn);
	return borrowed;
}

TEST(nd_turn_resume__after_the_loop_that_went_first)
{
	nd_ns end = clock_now() + PATIENCE;

	while (!wake_both())
		CHECK(clock_now() < end);
}

/* ---- exclusion ---- */

#define BORROWERS 3
#define LOANS 2000

static uint64_t together; /* no atomic: the turn is what protects it */
static bool stop;

static void *keep_owning(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		together++;
		nd_turn_lend(&turn);
		sched_yield();
		nd_turn_resume(&turn, false);
	}
	return unused;
}

static void *keep_borrowing(void *argument)
{
	for (uint32_t loans = 0; loans < LOANS;) {
		if (!nd_turn_borrow(&turn)) {
			sched_yield();
			continue;
		}
		together++;
		loans++;
		give_back(loans % 4 == 0);
	}
	return argument;
}

/* The sanitizer for threads would tell if two had it at once, or one without seeing the other's. */
TEST(nd_turn_borrow__excludes_all_others)
{
	pthread_t owner, borrowers[BORROWERS];

	nd_turn_init(&turn);
	together = 0;
	stop = false;
	CHECK_EQ(pthread_create(&owner, NULL, keep_owning, NULL), 0);
	for (uint32_t i = 0; i < BORROWERS; i++)
		CHECK_EQ(pthread_create(&borrowers[i], NULL, keep_borrowing, NULL), 0);
	for (uint32_t i = 0; i < BORROWERS; i++)
		CHECK_EQ(pthread_join(borrowers[i], NULL), 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	CHECK_EQ(pthread_join(owner, NULL), 0);
	CHECK(together > BORROWERS * LOANS);
	CHECK_EQ(turn.loans, BORROWERS * LOANS);
	nd_turn_free(&turn);
}

int main(int argc, char **argv)
{
	return nd_test_main(argc, argv);
}
