"""News for the example, drawn offline: a file of articles for each of 14 days, whose subjects change.

    python news.py days

The football season ends with day 5. An election begins on day 7, a storm comes on days 9 to 11, and from day 11 on the
markets write of a merger. An article has words of its subject, of another one now and then, and of all news.
"""

import json
import random
import sys
from pathlib import Path

DAYS, WORDS = 14, 60
ANY = "today people city week country time report state home year officials plan service street public local news"
SUBJECTS = {  # its words, the first ones most often, and how many articles it has on a day
    "football": (
        "goal match team coach striker season penalty league fans stadium defender keeper cup victory referee squad",
        lambda day: 40 if day <= 5 else 0,
    ),
    "markets": (
        "shares bank prices profit investors index inflation rates bond trading currency quarter growth fund oil",
        lambda day: 40 if day <= 10 else 0,
    ),
    "merger": (
        "merger takeover shares investors bid board bank shareholders offer regulator deal stake rival chairman",
        lambda day: 40 if day >= 11 else 0,
    ),
    "weather": (
        "rain wind storm forecast temperature flood coast clouds snow river warning sunshine degrees thunder",
        lambda day: 90 if 9 <= day <= 11 else 20,
    ),
    "election": (
        "election vote candidate party ballot minister campaign poll parliament coalition debate voters mandate",
        lambda day: 60 if day >= 7 else 0,
    ),
    "space": (
        "rocket orbit launch moon astronaut satellite engine mission telescope crew planet station lander",
        lambda day: 30,
    ),
    "health": (
        "hospital patients doctors vaccine virus nurses clinic treatment surgery disease trial medicine infection",
        lambda day: 35,
    ),
    "films": (
        "film actor director festival screen award cinema drama premiere script comedy camera audience studio",
        lambda day: 35,
    ),
}


def article(subject, subjects, draw):
    """Words of an article: 70 % of its subject, 10 % of another one of the day, 20 % of all news."""
    other = draw.choice(subjects)
    kinds = [SUBJECTS[subject][0].split(), SUBJECTS[other][0].split(), ANY.split()]
    words = []
    for kind in draw.choices(kinds, [0.7, 0.1, 0.2], k=WORDS):
        words += draw.choices(kind, [1 / (i + 2) for i in range(len(kind))])
    return " ".join(words)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for day in range(1, DAYS + 1):
        draw, path = random.Random(day), folder / f"day-{day:02}.jsonl"
        subjects = [name for name, (_, count) in SUBJECTS.items() for _ in range(count(day))]
        draw.shuffle(subjects)
        today = [
            {"id": f"{day}-{i}", "text": article(name, subjects, draw)} for i, name in enumerate(subjects)
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in today), encoding="utf-8")
    print(f"wrote {DAYS} days to {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "days"))
