/*
 * The JSON writer: another library reads everything that comes out, whatever the texts.
 */
#include "test.h"

#include "print/json_write.h"

#include <jansson.h>

struct output {
    char *text;
    size_t length;
    FILE *file;
    struct json_writer json;
};

static void begin(struct output *output)
{
    output->file = open_memstream(&output->text, &output->length);
    CHECK(output->file != NULL);
    json_write_init(&output->json, output->file);
}

static void end(struct output *output)
{
    json_write_finish(&output->json);
    CHECK(fclose(output->file) == 0);
}

TEST(values_and_keys_stand_in_the_order_of_the_calls)
{
    struct output output;

    begin(&output);
    json_write_open_object(&output.json, NULL);
    json_write_text(&output.json, "b", "x");
    json_write_number(&output.json, "a", UINT64_MAX);
    json_write_signed(&output.json, "c", -1);
    json_write_bool(&output.json, "d", true);
    json_write_null(&output.json, "e");
    json_write_hundredths(&output.json, "f", 1205);
    json_write_name(&output.json, "g", "");
    json_write_number_or_null(&output.json, "h", 0);
    json_write_open_array(&output.json, "i");
    json_write_close(&output.json);
    json_write_open_rows(&output.json, "j");
    json_write_number(&output.json, NULL, 0);
    json_write_made(&output.json, NULL, "{\"k\":10}...", 8);
    json_write_open_object(&output.json, NULL);
    json_write_close(&output.json);
    json_write_close(&output.json);
    json_write_close(&output.json);
    end(&output);
    CHECK_TEXT(output.text,
               "{\"b\":\"x\",\"a\":18446744073709551615,\"c\":-1,\"d\":true,\"e\":null,"
               "\"f\":12.05,\"g\":null,\"h\":null,\"i\":[],\"j\":[\n0,\n{\"k\":10},\n{}]}\n");
    free(output.text);
}

TEST(objects_can_stand_one_on_a_line)
{
    struct output output;

    begin(&output);
    for (unsigned i = 0; i < 2; i++) {
        json_write_open_object(&output.json, NULL);
        json_write_close(&output.json);
        json_write_next_line(&output.json);
    }
    end(&output);
    CHECK_TEXT(output.text, "{}\n{}\n");
    free(output.text);
}

TEST(texts_come_back_as_they_were_or_with_replacement_characters)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", ""},
        {"plain <b>&amp;", "plain <b>&amp;"},
        {"quote \" backslash \\ slash /", "quote \" backslash \\ slash /"},
        {"\t\n\r\x01\x1b[31m\x7f", "\t\n\r\x01\x1b[31m\x7f"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9b", "\xc2\x9b"},
        {"lone \xff byte", "lone \xef\xbf\xbd byte"},
        {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xb3\xbf surrogate", "\xef\xbf\xbd surrogate"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct output output;
        json_t *value;

        test_case("%zu", i);
        begin(&output);
        json_write_open_array(&output.json, NULL);
        json_write_text(&output.json, NULL, cases[i].text);
        json_write_close(&output.json);
        end(&output);
        value = json_loads(output.text, 0, NULL);
        CHECK(value != NULL);
        CHECK_TEXT(json_string_value(json_array_get(value, 0)), cases[i].expected);
        json_decref(value);
        free(output.text);
    }
}

TEST(no_output_moves_a_terminal)
{
    struct output output;

    begin(&output);
    json_write_text(&output.json, NULL, "\x1b[2J\x7f\xc2\x9b\x07");
    end(&output);
    CHECK_TEXT(output.text, "\"\\u001b[2J\\u007f\\u009b\\u0007\"\n");
    free(output.text);
}

TEST(levels_may_be_very_deep)
{
    enum {
        DEPTH = 100000
    };
    struct output output;

    begin(&output);
    for (unsigned i = 0; i < DEPTH; i++)
        json_write_open_array(&output.json, NULL);
    for (unsigned i = 0; i < DEPTH; i++)
        json_write_close(&output.json);
    end(&output);
    CHECK_EQUAL(output.length, 2 * DEPTH + 1);
    free(output.text);
}
