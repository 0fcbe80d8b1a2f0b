"""Says of every zone of a folder what clocks show, by Python's zoneinfo: a witness that shares nothing with Carillon.

Lines: `o ZONE INSTANT OFFSET`, and for wall times around the changes of 2026 and 2027 `w ZONE WALL INSTANT`; all in seconds.
"""
import datetime as d, random, sys, zoneinfo

zoneinfo.reset_tzpath(to=[sys.argv[1]])
chance = random.Random(int(sys.argv[2]))
UTC, EPOCH, DAY = d.timezone.utc, d.datetime(1970, 1, 1), 86400
out = []


def offset(zone, instant):
    moment = d.datetime.fromtimestamp(instant, UTC).astimezone(zone)
    return int(moment.utcoffset().total_seconds())


def shows(zone, instant):
    return instant + offset(zone, instant)


def changes(zone, start, end):
    found, before = [], offset(zone, start)
    for day in range(start + DAY, end, DAY):
        after = offset(zone, day)
        if after != before:
            low, high = day - DAY, day
            while high - low > 1:
                middle = (low + high) // 2
                if offset(zone, middle) == before:
                    low = middle
                else:
                    high = middle
            found.append((high, before, after))
        before = after
    return found


def first_instant(zone, wall, change):
    at, before, after = change
    naive = EPOCH + d.timedelta(seconds=wall)
    # fold=0 selects the first of two times. For a skipped time it gives one with another local time.
    instant = int(naive.replace(tzinfo=zone, fold=0).timestamp())
    return instant if shows(zone, instant) == wall else at


for name in sorted(zoneinfo.available_timezones()):
    zone = zoneinfo.ZoneInfo(name)
    instants = [chance.randrange(-2 * 10**9, 7 * 10**9) for _ in range(10)]
    instants += [chance.randrange(1767225600, 1830297600) for _ in range(4)]
    for change in changes(zone, 1767225600, 1830297600):  # 2026 and 2027
        at, before, after = change
        instants += [at - 1, at, at + 1]
        low, high = sorted((at + before, at + after))
        walls = [low - DAY, low - 3600, low - 1, low, low + 1, (low + high) // 2, high - 1, high, high + 1, high + 3600]
        for wall in walls + [chance.randrange(low - 7200, high + 7200) for _ in range(4)]:
            out.append(f"w {name} {wall} {first_instant(zone, wall, change)}")
    out += [f"o {name} {instant} {offset(zone, instant)}" for instant in instants]
print("\n".join(out))
