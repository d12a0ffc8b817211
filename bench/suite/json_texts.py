"""json: accounts written and read by the standard library, by its fast ways and by its slow ones.

What is read is equal to what was written; texts have the length that they must have; objects that are
made while reading add up.
"""
import json

import measured

ACCOUNTS = 120
WORDS = ["plain", "with \"quotes\"", "l\u00e4nger", "\u65e5\u672c", "line\nbreak", "back\\slash", ""]


class Money:
    """An object that json knows nothing of: written by default(), made by object_hook()."""
    __slots__ = ("cents",)

    def __init__(self, cents):
        self.cents = cents

    def __eq__(self, other):
        return self.cents == other.cents


def default(value):
    return {"cents": value.cents}


def object_hook(members):
    return Money(members["cents"]) if members.keys() == {"cents"} else members


def account(number):
    return {
        "id": number,
        "owner": WORDS[number % len(WORDS)] * 3,
        "tags": [WORDS[(number + i) % len(WORDS)] for i in range(number % 5)],
        "is_open": number % 3 != 0,
        "parent": None if number % 4 == 0 else number - 1,
        "rate": number / 8,
        "entries": [{"day": day, "amount": Money(day * number), "by": {"name": str(day)}}
                    for day in range(number % 12)],
    }


def balance(accounts):
    return sum(entry["amount"].cents for one in accounts for entry in one["entries"])


def main(loops):
    """Return the characters that were written."""
    accounts = [account(number) for number in range(ACCOUNTS)]
    expected = balance(accounts)
    characters = 0
    for _ in range(loops):
        compact = json.dumps(accounts, default=default, separators=(",", ":"))
        spread = json.dumps(accounts, default=default, indent=1, sort_keys=True, ensure_ascii=False)
        assert "\n" not in compact and spread.count("\n") > 20 * ACCOUNTS
        for text in (compact, spread):
            read = json.loads(text, object_hook=object_hook)
            assert read == accounts
            assert balance(read) == expected
            characters += len(text)
        lines = [json.dumps(one, default=default) for one in accounts]
        assert [json.loads(line, object_hook=object_hook) for line in lines] == accounts
        characters += sum(map(len, lines))
    return characters


if __name__ == "__main__":
    measured.run(main)
