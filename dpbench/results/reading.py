"""Reading result files, CSV or JSON: of any version that has what is needed, and never anything else."""

import csv
import json
import os
import select
import stat
from collections.abc import Iterable, Iterator
from typing import IO, Any

from dpbench.errors import PlatformError
from dpbench.results.cells import NEEDED, Damaged, Record, observation
from dpbench.results.circumstances import circumstances
from dpbench.results.observed import Identity, Observation, ResultFile
from dpbench.results.patience import PATIENCE_S
from dpbench.results.record import SCHEMA
from dpbench.text import printable
from dpbench.units import format_size

LARGEST = 2**31  #: bytes of a file
SNIFFED = 2**16  #: bytes that show what a file is, before all of it is read
KNOWN = set(map(str, range(1, SCHEMA + 1)))
KINDS = "a CSV or JSON document of dpbench"


def read(path: str) -> ResultFile:
    """Return what the file holds.

    Raises PlatformError if it cannot be read, is damaged, or is no result file of dpbench.
    """
    notes: list[str] = []
    try:
        text = text_of(path)
        document = document_in(text) if text.startswith("{") else {"rows": list(csv_records(text, notes))}
        records: list[Record] = document["rows"]
        observations = tuple(observations_in(records, circumstances(document)))
    except OSError as error:
        raise PlatformError(f"{path or repr(path)}: cannot be read: {error.strerror or error}") from error
    except Damaged as damage:
        raise PlatformError(f"{path}: {damage}") from damage
    if not observations:
        notes.append("holds no rows")
    if document.get("complete") is False:
        notes.append("is not complete: its run goes on, was stopped or has failed; rows may be missing")
    if not {str(record.get("schema") or SCHEMA) for record in (document, *records)} <= KNOWN:
        notes.append("written by another version of dpbench: only the columns known here are read")
    return ResultFile(path=path, observations=observations, notes=tuple(f"{printable(path)}: {note}" for note in notes))


def text_of(path: str) -> str:
    """Return the file's text; raises Damaged as soon as it shows that it is something else."""
    with opened(path) as file:
        data = file.read(SNIFFED)
        begin = data.removeprefix(b"\xef\xbb\xbf").lstrip()
        if begin and not begin.startswith((b"{", b"schema,")):
            hint = "; a spreadsheet has saved it with ; between columns" if begin.startswith(b"schema;") else ""
            raise Damaged(f"is not {KINDS}{hint}")
        is_short = os.fstat(file.fileno()).st_size <= LARGEST
        data += file.read(LARGEST) if is_short else b""
    if not is_short or len(data) > LARGEST:
        raise Damaged(f"is larger than {format_size(LARGEST)}")
    try:
        return data.decode("utf-8-sig").lstrip()
    except UnicodeDecodeError as error:
        raise Damaged(f"is damaged: byte {error.start} is not UTF-8") from error


def opened(path: str) -> IO[bytes]:
    """Open a file to read it; a pipe that nobody writes to is waited for, but not for ever."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except ValueError as error:  # a zero byte
        raise Damaged(f"names no file: {error}") from error
    file = open(descriptor, "rb")  # noqa: SIM115 - the caller closes it
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode) and not written(descriptor):
        file.close()
        raise Damaged(f"nobody has written to this pipe for {PATIENCE_S:.0f} s")
    os.set_blocking(descriptor, True)
    return file


def written(pipe: int) -> bool:
    """Return whether something comes through a pipe, or somebody is about to write to it."""
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    if waiting.poll(PATIENCE_S * 1000):
        return True
    try:
        os.read(pipe, 1)  # nothing is there to be lost
    except BlockingIOError:
        return True
    return False


def document_in(text: str) -> dict[str, Any]:
    """Return the JSON document; raises Damaged if it is none, or has no rows."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"is damaged, no JSON document: {str(error).partition(';')[0]}") from error
    rows = document.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Damaged(f"is not {KINDS}: it has no list of rows")
    return dict(document)


def csv_records(text: str, notes: list[str]) -> Iterator[Record]:
    """Yield the rows of a CSV; each is one line. A last one that lacks its end is told of in `notes`."""
    lines = text.split("\n")
    columns = cells_of(lines[0], 1) if text else []
    if columns:
        require(columns)
    for number, line in enumerate(lines[1:], start=2):
        try:
            cells = cells_of(line, number)
            if cells and len(cells) != len(columns):
                raise Damaged(f"is damaged: line {number} has {len(cells)} columns, not {len(columns)}")
        except Damaged:
            if number < len(lines):
                raise
            notes.append("ends within a row, as a run that is killed while writing leaves it; that row is not read")
            return
        if cells and cells != columns:  # else one file was put behind another
            yield dict(zip(columns, cells, strict=True))


def cells_of(line: str, number: int) -> list[str]:
    """Return the cells of a line, none of an empty one."""
    try:
        return next(csv.reader([line.rstrip("\r")], strict=True), [])
    except csv.Error as error:
        raise Damaged(f"is damaged: line {number}: {str(error).partition(' - ')[0]}") from error


def require(columns: list[str]) -> None:
    """Raise Damaged unless there are all columns that tell what was measured, and none twice."""
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise Damaged(f"lacks columns of schema {SCHEMA}: {', '.join(missing)}")
    if len(set(columns)) < len(columns):
        raise Damaged("is damaged: a column appears twice")


def observations_in(records: Iterable[Record], facts: dict[str, str]) -> Iterator[Observation]:
    """Yield what each row observed, and the facts of its run; a phase belongs to the whole row above it."""
    whole: Identity | None = None
    for number, record in enumerate(records, start=1):
        try:
            found = observation(record, whole, facts)
        except Damaged as damage:
            raise Damaged(f"is damaged: row {number}: {damage}") from damage
        if not found.identity.phase:
            whole = found.identity
        yield found
