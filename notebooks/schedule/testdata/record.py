"""Writes cronsim.tsv: what cronsim, whose rules are those of Debian's cron, says is due next.

    pip install cronsim==2.8 tzdata==2026.6 && PYTHONTZPATH= python3 record.py > cronsim.tsv
"""
import datetime
import zoneinfo

from cronsim import CronSim

EXPRESSIONS = [
    "30 2 * * *", "0 2 * * *", "15 2 * * *", "0 0 * * *", "30 1 * * *", "59 1 * * *", "0 3 * * *", "*/15 * * * *",
    "0 * * * *", "30 */2 * * *", "* 2 * * *", "5,45 1-3 * * *", "0 6 29 2 *", "0 12 31 * *", "0 9 13 * 5",
    "30 2 * * 0", "15 0 * 3,10,11 *", "0 0 1 1 *", "10 1,2,3 * * sun",
]
STARTS = {
    "Europe/Berlin": ["2024-03-30T12:00", "2024-10-26T12:00"],
    "America/New_York": ["2024-03-09T12:00", "2024-11-02T12:00"],
    "Australia/Sydney": ["2024-04-06T00:00", "2024-10-05T00:00"],
    "Australia/Lord_Howe": ["2024-04-06T00:00", "2024-10-05T00:00"],  # by half an hour
    "America/Sao_Paulo": ["2018-11-03T00:00", "2019-02-16T00:00"],  # at midnight, for the last time
    "Asia/Tehran": ["2022-03-21T00:00", "2022-09-21T00:00", "2023-03-21T00:00"],  # given up in 2022
    "Africa/Casablanca": ["2024-03-09T00:00", "2024-04-13T00:00"],  # for Ramadan
    "Pacific/Apia": ["2011-12-29T00:00"],  # a whole day is skipped
    "America/Santiago": ["2024-04-06T00:00", "2024-09-07T00:00"],
    "Africa/Cairo": ["2023-04-27T00:00", "2024-10-31T00:00"],  # taken up again in 2023
    "UTC": ["2096-02-28T00:00", "2027-12-30T00:00"],
    "Asia/Kolkata": ["2024-02-28T00:00"],
    "Asia/Amman": ["2022-10-27T00:00"],  # stayed on summer time
    "America/Havana": ["2024-03-09T00:00", "2024-11-02T00:00"],
}
KNOWN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)  # zones change their rules for what comes later

print("# cronsim 2.8, tzdata 2026.6 (record.py): time zone, after, expression, up to eight due times before 2026")
for zone, starts in STARTS.items():
    for start in starts:
        after = datetime.datetime.fromisoformat(start).replace(tzinfo=zoneinfo.ZoneInfo(zone))
        for expression in EXPRESSIONS:
            times = CronSim(expression, after)
            due = [next(times) for _ in range(8)]
            due = [str(int(at.timestamp())) for at in due if zone == "UTC" or at < KNOWN]
            print(zone, int(after.timestamp()), expression, " ".join(due), sep="\t")
