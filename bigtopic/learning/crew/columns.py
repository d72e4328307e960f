"""Names of numbers that the threads of a crew share: what a thread is to do; places and columns of the tables."""

__all__ = [
    "ADDED_IDS",
    "ADDITIONS",
    "AT_WORK",
    "COUNTS",
    "ENTRIES",
    "FACTOR",
    "FIRST_ID",
    "FIRST_ROW",
    "FIRST_SLICE",
    "GATHERED",
    "GROUP",
    "GROUPS",
    "GROWS",
    "HAS_GATHERED",
    "IDLE",
    "IDS",
    "ID_BYTES",
    "INDPTR",
    "INFER",
    "INFERRED",
    "IS_INFERRED",
    "IS_JOINED",
    "LEADING",
    "LEADS",
    "LINEAR",
    "LOOK_UP",
    "NEAR",
    "NONE",
    "N_ADDED",
    "N_ADDITION",
    "N_ADDITIONS",
    "N_COLUMNS",
    "N_COUNTERS",
    "N_GROUP",
    "N_IDS",
    "N_ROWS",
    "N_SLICE",
    "OTHER",
    "OVER",
    "PART",
    "PARTS",
    "PARTS_DONE",
    "POSTED",
    "RAW",
    "ROWS_TAKEN",
    "SCRATCH",
    "SEALED",
    "SETTLED",
    "SLICES",
    "START",
    "STATS",
    "STEPPED",
    "STEP_STOP",
    "STOP",
    "STOPPING",
    "STOP_SLICE",
    "TAKEN",
    "VALUES",
    "WAIT",
    "WOKEN",
    "WORDS",
]

OVER, LEADS, GROWS = range(3)  # why a thread leaves compiled code
WAIT, PART, LOOK_UP, INFER = range(3, 7)  # what it does inside
NEAR = 2  # groups after the one at work whose documents are to be there

# Places in `counters`
POSTED = 0  # slices whose documents are in the tables
TAKEN = 1  # slices whose documents a thread looks up, or has looked up
GATHERED = 2  # slices that have gathered their rows, as have all before them
INFERRED = 3  # slices whose rounds are inferred and joined, as are all before them
STEPPED = 4  # slices whose rounds have stepped
SEALED = 5  # groups whose rounds have all stepped
SETTLED = 6  # groups whose additions are in the rows
PARTS = 7  # parts of the additions at work that a thread has begun
PARTS_DONE = 8
LEADING = 9  # whether a thread leads
STOPPING = 10  # whether all threads are to end
IDLE = 11  # threads that wait
WOKEN = 12  # threads that were woken, and do not run yet
SLICES = 13  # of the segment
GROUPS = 14  # of the segment
AT_WORK = 15  # groups that may be at work at once
N_COUNTERS = 16

# Columns of `slices`
INDPTR = 0  # address of an array of its read block
WORDS = 1  # likewise
COUNTS = 2  # likewise
START = 3  # its first document in the read block
STOP = 4  # the document after its last one
ENTRIES = 5
SCRATCH = 6  # floats of scratch memory that it needs
GROUP = 7
STEP_STOP = 8  # the slice after those of its round, or of its group, if that steps at once
FIRST_ID = 9  # place of its ids in those of the group
FIRST_ROW = 10  # place of its statistics in those of the group
N_IDS = 11
HAS_GATHERED = 12
IS_INFERRED = 13
IS_JOINED = 14  # all slices of its round are inferred, and their statistics are joined
OTHER = 15  # slice of a round of two, or NONE
N_SLICE = 16

ID_BYTES = 4
NONE = -1  # no slice

# Columns of `groups`
FIRST_SLICE = 0
STOP_SLICE = 1  # the slice after its last one
LINEAR = 2  # address of how it sees the params
IDS = 3  # address
STATS = 4  # address
ROWS_TAKEN = 5  # rows of the statistics that slices have
ADDITIONS = 6  # address
N_ADDITIONS = 7  # -1 if Python does them
N_GROUP = 8

# Columns of additions
N_ROWS = 0  # of the array
N_COLUMNS = 1  # of the array
N_ADDED = 2  # ids
RAW = 3  # address of the array
ADDED_IDS = 4  # address
VALUES = 5  # address
FACTOR = 6  # address
N_ADDITION = 7
