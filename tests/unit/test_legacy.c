/*
 * What forked children inherit, in random families, against an array of bools a process.
 */
#include "profile/legacy.h"

#include "test.h"

enum {
    KEY_COUNT = 8000, /* in up to 64 leaves, from 2 */
    MEMBER_COUNT = 8,
    STEP_COUNT = 60000,
};

struct member {
    struct live_blocks blocks;
    struct inherited inherited;
    struct legacy legacy;
    bool is_there;
    /* What must be in them. */
    bool has_block[KEY_COUNT], has_inherited[KEY_COUNT];
    size_t inherited_count;
};

static struct member family[MEMBER_COUNT];
static uint64_t random_state, distance;

static unsigned random_below(unsigned limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % limit);
}

static uint64_t key_at(unsigned i)
{
    return LIVE_KEY | (UINT64_C(0x7f0000000010) + i * distance) % (UINT64_C(1) << 60);
}

static void check_member(const struct member *member)
{
    CHECK_EQUAL(member->inherited.count, member->inherited_count);
    for (unsigned i = 0; i < KEY_COUNT; i++)
        CHECK_EQUAL(inherited_has(&member->inherited, key_at(i)), member->has_inherited[i]);
}

static void end_member(struct member *member)
{
    check_member(member);
    live_blocks_finish(&member->blocks);
    inherited_finish(&member->inherited);
    legacy_finish(&member->legacy);
    memset(member, 0, sizeof(*member));
}

static void fork_member(struct member *parent)
{
    struct member *child = &family[random_below(MEMBER_COUNT)];

    if (child == parent)
        return;
    if (child->is_there)
        end_member(child);
    child->is_there = true;
    child->inherited = legacy_leave(&parent->legacy, &parent->blocks, &parent->inherited);
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        child->has_inherited[i] = parent->has_block[i] || parent->has_inherited[i];
        child->inherited_count += child->has_inherited[i];
    }
    check_member(child);
}

/* Allocate, where there may have been an inherited block. */
static void put_block(struct member *member, unsigned i)
{
    bool is_new;

    live_blocks_put(&member->blocks, key_at(i), &is_new);
    CHECK_EQUAL(is_new, !member->has_block[i]);
    CHECK_EQUAL(inherited_remove(&member->inherited, key_at(i)), member->has_inherited[i]);
    member->inherited_count -= member->has_inherited[i];
    member->has_block[i] = true;
    member->has_inherited[i] = false;
}

/* Release what is there; now and then what was inherited comes back. */
static void take_block(struct member *member, unsigned i)
{
    if (member->has_block[i]) {
        live_blocks_remove(&member->blocks, live_blocks_find(&member->blocks, key_at(i)));
        member->has_block[i] = false;
        return;
    }
    CHECK_EQUAL(inherited_remove(&member->inherited, key_at(i)), member->has_inherited[i]);
    if (member->has_inherited[i] && random_below(4) == 0) {
        inherited_add(&member->inherited, key_at(i));
        inherited_add(&member->inherited, key_at(i));
        return;
    }
    member->inherited_count -= member->has_inherited[i];
    member->has_inherited[i] = false;
}

static void step(struct member *member, unsigned share_of_puts)
{
    unsigned i = random_below(KEY_COUNT), what = random_below(2000);

    if (what == 0)
        fork_member(member);
    if (what == 1)
        legacy_finish(&member->legacy);
    legacy_touch(&member->legacy, key_at(i));
    if (random_below(100) < share_of_puts)
        put_block(member, i);
    else
        take_block(member, i);
}

static void live_a_family(uint64_t seed)
{
    random_state = seed;
    memset(family, 0, sizeof(family));
    family[0].is_there = true;
    for (unsigned steps = 0; steps < STEP_COUNT; steps++) {
        unsigned who = random_below(MEMBER_COUNT);

        test_case("seed %" PRIu64 ", distance %" PRIu64 ", step %u", seed, distance, steps);
        if (family[who].is_there)
            step(&family[who], steps % 20000 < 12000 ? 80 : 30);
    }
    for (unsigned who = 0; who < MEMBER_COUNT; who++)
        end_member(&family[who]);
}

TEST(a_child_inherits_what_its_parent_has_at_the_fork)
{
    static const uint64_t distances[] = {8, 48, 4096, UINT64_C(1) << 21};

    for (unsigned i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        distance = distances[i];
        for (uint64_t seed = 1; seed <= 5; seed++)
            live_a_family(seed * 7919);
    }
}

/* A thousand children of a parent that changes nothing have its leaves, not copies of them. */
TEST(children_share_what_their_parent_left)
{
    static struct inherited children[1000];
    struct member *parent = &family[0];

    memset(family, 0, sizeof(family));
    distance = 16;
    for (unsigned i = 0; i < KEY_COUNT; i++)
        put_block(parent, i);
    for (unsigned i = 0; i < 1000; i++) {
        children[i] = legacy_leave(&parent->legacy, &parent->blocks, &parent->inherited);
        CHECK_EQUAL(children[i].count, KEY_COUNT);
        CHECK(children[i].root == children[0].root);
    }
    CHECK(inherited_remove(&children[7], key_at(5)));
    CHECK(!inherited_has(&children[7], key_at(5)));
    CHECK(inherited_has(&children[6], key_at(5)) && inherited_has(&children[8], key_at(5)));
    for (size_t leaf = 0, differing = 0; leaf < (size_t)1 << children[0].root->bits; leaf++) {
        differing += children[7].root->leaves[leaf] != children[0].root->leaves[leaf];
        CHECK(differing <= 1);
    }
    for (unsigned i = 0; i < 1000; i++)
        inherited_finish(&children[i]);
    end_member(parent);
}

/* Of what a parent changes between two forks, only the leaves that have it are made anew. */
TEST(a_change_of_the_parent_costs_one_leaf)
{
    struct inherited before, after;
    struct member *parent = &family[0];
    size_t differing = 0;

    memset(family, 0, sizeof(family));
    distance = 16;
    for (unsigned i = 1; i < KEY_COUNT; i++)
        put_block(parent, i);
    before = legacy_leave(&parent->legacy, &parent->blocks, &parent->inherited);
    legacy_touch(&parent->legacy, key_at(0));
    put_block(parent, 0);
    after = legacy_leave(&parent->legacy, &parent->blocks, &parent->inherited);
    CHECK_EQUAL(before.count, KEY_COUNT - 1);
    CHECK_EQUAL(after.count, KEY_COUNT);
    CHECK_EQUAL(before.root->bits, after.root->bits);
    for (size_t leaf = 0; leaf < (size_t)1 << after.root->bits; leaf++)
        differing += before.root->leaves[leaf] != after.root->leaves[leaf];
    CHECK_EQUAL(differing, 1);
    inherited_finish(&before);
    inherited_finish(&after);
    end_member(parent);
}
