/*
 * MEMTRACK_SESSION.
 */
#include "session/locator.h"

#include "test.h"

#define UUID  "00112233445566778899aabbccddeeff"
#define TOKEN "ffeeddccbbaa99887766554433221100"

TEST(a_locator_is_uuid_token_and_path)
{
    struct locator locator;

    CHECK(locator_parse(UUID ":" TOKEN ":/some/path", &locator));
    CHECK_TEXT(locator.name, UUID);
    for (unsigned i = 0; i < 16; i++) {
        CHECK_EQUAL(locator.uuid[i], i * 0x11);
        CHECK_EQUAL(locator.token[i], 0xff - i * 0x11);
    }
    CHECK(locator_parse(UUID ":" TOKEN ":", &locator));
}

TEST(anything_else_is_refused)
{
    static const char *const texts[] = {
        "",
        ":",
        UUID,
        UUID ":",
        UUID ":" TOKEN,
        UUID ":" TOKEN "/path",
        UUID TOKEN ":/path",
        UUID "0:" TOKEN ":/path",
        "0" UUID ":" TOKEN ":/path",
        "00112233445566778899AABBCCDDEEFF:" TOKEN ":/path",
        "0011223344556677:" TOKEN ":/path",
        UUID ":ffeeddccbbaa9988776655443322110g:/path",
    };
    struct locator locator = {.name = "untouched"};

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        test_case("\"%s\"", texts[i]);
        CHECK(!locator_parse(texts[i], &locator));
        CHECK_TEXT(locator.name, "untouched");
    }
}

TEST(a_variable_is_found_by_its_whole_name)
{
    static char texts[][10] = {"ONE=1", "TWO", "THREEE=x", "THREE=3=3", "THREE=4"};
    char *const environment[] = {texts[0], texts[1], texts[2], texts[3], texts[4], NULL};

    CHECK_TEXT(locator_find(environment, "ONE"), "1");
    CHECK(locator_find(environment, "TWO") == NULL);
    CHECK_TEXT(locator_find(environment, "THREE"), "3=3");
    CHECK(locator_find(environment, "FOUR") == NULL);
    CHECK(locator_find(NULL, "ONE") == NULL);
}
