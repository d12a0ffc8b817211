/*
 * The pack thread: each block becomes a section, in the compact coder, but those of a stream whose events
 * are like chance.
 */
#include "collect/pack.h"

#include "capture/events.h"
#include "capture/section.h"
#include "memtrack/varint.h"
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCKS = 40,
    MOST_BYTES = 8 << 20,
    PLANES_BETWEEN = 15,
};

static const uint8_t uuid[16] = "0123456789abcde";
static char directory[] = "/tmp/test_pack_XXXXXX";
static char path[sizeof(directory) + 16];
static uint8_t file[MOST_BYTES], expected[2][PACK_BLOCK_RECORDS * EVENT_BYTES];

static void remove_all(void)
{
    unlink(path);
    rmdir(directory);
}

/* Blocks that come and go: in an order, or with addresses and sizes of chance. */
static void fill(uint8_t *records, bool is_chance)
{
    uint64_t chance = 1;

    for (uint64_t i = 0; i < PACK_BLOCK_RECORDS; i++) {
        uint64_t op = i == 0 ? EVENT_SYNC : EVENT_ALLOC, address = 1, w1 = 1;

        chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
        if (i > 0) {
            address = (i % 3 + 1) << 12 | (is_chance ? chance >> 44 << 4 : 0);
            w1 = UINT64_C(7) << EVENT_STACK_SHIFT | (is_chance ? chance >> 50 : 64);
        }
        le_store_u64(address | op << EVENT_OP_SHIFT, records + i * EVENT_BYTES);
        le_store_u64(w1, records + i * EVENT_BYTES + 8);
    }
}

static void put_blocks(void)
{
    struct capture_writer *writer;
    struct pack *pack;

    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof(path), "%s/app.bin", directory);
    atexit(remove_all);
    writer = capture_writer_open(path, false, uuid, 42, NULL);
    CHECK(writer != NULL);
    pack = pack_start(writer, -1, NULL);
    CHECK(pack != NULL);
    for (uint32_t i = 0; i < 2 * BLOCKS; i++) {
        struct pack_block *block = pack_block_get(pack);

        block->process = 1;
        block->stream = 1 + i % 2;
        block->first_segment = 1;
        block->count = PACK_BLOCK_RECORDS;
        memcpy(block->events, expected[i % 2], sizeof(block->events));
        pack_put(pack, block);
    }
    CHECK(pack_stop(pack) > 0);
    CHECK(capture_writer_close(writer, NULL));
}

TEST(a_stream_like_chance_is_written_as_planes_most_of_the_time)
{
    static uint8_t records[PACK_BLOCK_RECORDS * EVENT_BYTES];
    struct events_unpacker unpacker = {.bytes = NULL};
    uint32_t counts[2] = {0, 0};
    struct capture_bytes bytes = {"app.bin", file, 0};
    size_t offset = SUPERBLOCK_BYTES;
    struct section section;
    int fd;

    fill(expected[0], false);
    fill(expected[1], true);
    put_blocks();
    fd = open(path, O_RDONLY);
    bytes.size_bytes = (size_t)read(fd, file, sizeof(file));
    CHECK(fd >= 0 && bytes.size_bytes < sizeof(file));
    close(fd);
    for (; section_read(&bytes, offset, &section, NULL) && section.type == SECTION_EVENTS;
         offset = section.next_offset) {
        uint32_t chance = section.stream - 1, number = counts[chance]++;
        bool is_compact = chance == 0 || number % (PLANES_BETWEEN + 1) == 0;
        struct events_payload payload;
        struct events_fault fault;

        test_case("block %u of stream %u", number, section.stream);
        CHECK_EQUAL(section.coder, is_compact ? CODER_COMPACT : CODER_PLANES);
        CHECK(events_payload_of(&section, &payload, &fault));
        CHECK_EQUAL(payload.record_count, PACK_BLOCK_RECORDS);
        CHECK(events_unpack(&unpacker, &payload, records, &fault));
        CHECK(memcmp(records, expected[chance], sizeof(records)) == 0);
    }
    CHECK_EQUAL(counts[0], BLOCKS);
    CHECK_EQUAL(counts[1], BLOCKS);
    events_unpacker_finish(&unpacker);
}

enum {
    PASSING_BLOCKS = 40, /* fewer than the queue holds: who hands them over need not wait */
    MOST_SECTIONS = 4,   /* unread */
};

static uint64_t section_bytes(void)
{
    return section_size(PACK_BLOCK_RECORDS * EVENT_BYTES);
}

static struct stat status_of(const struct capture_writer *writer)
{
    struct stat status;

    CHECK(fstat(capture_writer_fd(writer), &status) == 0);
    return status;
}

/* Wait until so much has been written. */
static void await_size(const struct capture_writer *writer, uint64_t size_bytes)
{
    while ((uint64_t)status_of(writer).st_size < size_bytes)
        usleep(100);
}

/* Hand over blocks of events, of which the reader is to read at least some before all are written. */
static struct pack *start_passing(struct capture_writer **ret_writer)
{
    struct capture_writer *writer = capture_writer_open_passing("app.bin", NULL);
    struct pack *pack;

    CHECK(writer != NULL && capture_writer_is_passing(writer));
    pack = pack_start(writer, -1, NULL);
    CHECK(pack != NULL);
    pack_limit_unread(pack, SUPERBLOCK_BYTES + MOST_SECTIONS * section_bytes());
    for (uint32_t i = 0; i < PASSING_BLOCKS; i++) {
        struct pack_block *block = pack_block_get(pack);

        block->process = block->stream = 1;
        block->first_segment = 1;
        block->count = PACK_BLOCK_RECORDS;
        pack_put(pack, block);
    }
    *ret_writer = writer;
    return pack;
}

TEST(who_writes_what_is_passing_waits_for_its_reader)
{
    struct capture_writer *writer;
    struct pack *pack = start_passing(&writer);
    uint64_t end = SUPERBLOCK_BYTES + PASSING_BLOCKS * section_bytes();

    for (uint64_t read = 0; read < end; read += section_bytes()) {
        /* One more than the limit: it looks before it writes. */
        uint64_t most = SUPERBLOCK_BYTES + read + (MOST_SECTIONS + 1) * section_bytes();

        capture_writer_forget(writer, read);
        pack_note_read(pack, read);
        await_size(writer, most < end ? most : end);
        CHECK((uint64_t)status_of(writer).st_size <= most);
    }
    CHECK_EQUAL(status_of(writer).st_size, end);
    CHECK((uint64_t)status_of(writer).st_blocks * 512 < MOST_SECTIONS * section_bytes());
    CHECK_EQUAL(pack_stop(pack), PASSING_BLOCKS * PACK_BLOCK_RECORDS * EVENT_BYTES);
    capture_writer_abandon(writer);
}

static void *await_written(void *pack)
{
    uint64_t written_bytes = SUPERBLOCK_BYTES;

    CHECK(!pack_await_written(pack, &written_bytes));
    return NULL;
}

TEST(nobody_waits_for_a_reader_who_waits_himself)
{
    struct capture_writer *writer;
    struct pack *pack = start_passing(&writer);
    pthread_t reader;

    await_size(writer, MOST_SECTIONS * section_bytes());
    CHECK_EQUAL(pthread_create(&reader, NULL, await_written, pack), 0);
    await_size(writer, SUPERBLOCK_BYTES + PASSING_BLOCKS * section_bytes());
    pack_end_waiting(pack);
    pthread_join(reader, NULL);
    pack_stop(pack);
    capture_writer_abandon(writer);
}

TEST(nobody_waits_when_waiting_is_over)
{
    struct capture_writer *writer;
    struct pack *pack = start_passing(&writer);

    pack_end_waiting(pack);
    CHECK_EQUAL(pack_stop(pack), PASSING_BLOCKS * PACK_BLOCK_RECORDS * EVENT_BYTES);
    capture_writer_abandon(writer);
}
