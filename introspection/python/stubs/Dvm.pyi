import concurrent.futures
import subprocess
from typing import Any, Iterator, List, Optional, Sequence

from gi.repository import GLib

class Error:
    FAILED: Error
    BAD_PARAM: Error
    NOT_FOUND: Error

class DvmError(GLib.Error): ...
class BadParamError(DvmError, ValueError): ...
class NotFoundError(DvmError, LookupError): ...

class JobState:
    READY_FOR_DEBUG: JobState
    KILLED_BY_CMD: JobState
    def __int__(self) -> int: ...

class Streams:
    STDOUT: Streams
    STDERR: Streams
    def __or__(self, other: Streams) -> Streams: ...

class CampaignState:
    COMPLETED: CampaignState

class JobSpec:
    def __init__(self, argv: Any = ..., **options: Any) -> None: ...

class Job:
    props: Any
    returncode: Optional[int]

class Client:
    props: Any
    @classmethod
    def new(cls, name: Optional[str]) -> Client: ...
    @classmethod
    def new_for_address(cls, address: str) -> Client: ...

class JobError(RuntimeError):
    job: Job

class CompletedJob(subprocess.CompletedProcess[Any]):
    job: Job

class JobFuture(concurrent.futures.Future[CompletedJob]):
    job_id: Optional[int]

class Executor(concurrent.futures.Executor):
    def __init__(self, name: Optional[str] = ..., *, address: Optional[str] = ..., max_pending: int = ...) -> None: ...
    def submit(self, command: Any, /, *, check: bool = ..., capture_output: bool = ..., text: bool = ...,  # type: ignore[override]
               stdin: Optional[bytes] = ..., **options: Any) -> JobFuture: ...
    def map(self, command: Any, *iterables: Any, timeout: Optional[float] = ..., chunksize: int = ...,  # type: ignore[override]
            **options: Any) -> Iterator[Any]: ...

def make_error(code: Error, message: str) -> DvmError: ...
def complete_job(job: Job, args: List[str], stdout: Any, stderr: Any) -> CompletedJob: ...
def iterate_results(futures: Sequence[Any], end: Optional[float]) -> Iterator[Any]: ...
def host_list_expand(list: str, place: str) -> List[str]: ...
def host_list_compress(names: Sequence[str]) -> str: ...
def job_state_to_string(state: int) -> str: ...
def proc_state_to_string(state: int) -> str: ...
def node_state_to_string(state: int) -> str: ...
