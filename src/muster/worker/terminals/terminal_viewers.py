"""People who watch the terminal of a worker and type there, or send what a worker without a terminal reads."""

from binascii import b2a_base64

from muster.worker.messages import BadMessage, typed
from muster.worker.service import Conversation, Message
from muster.worker.worker_process import WorkerProcess


def show_terminal(connection: Conversation, process: WorkerProcess | None) -> None:
    """Let a user watch the terminal of a worker, and type. The worker is None when the job has none here.

    A worker that has no terminal, and reads what a user sends, is sent it.
    """
    if process is not None and process.input is not None:
        process.input.attach(connection)
        return
    if process is None or process.terminal is None:
        connection.say({"over": "no worker of this job on this node has a terminal"})
        connection.flush()
        connection.close()
        return
    terminal = process.terminal

    def view(data: bytes | None) -> None:
        if data is None:
            connection.say({"over": "the worker has ended"})
        else:
            connection.say({"output": b2a_base64(data, newline=False).decode()})
        connection.flush()
        if data is None:
            connection.close()

    def hear(_: Conversation, message: Message) -> None:
        match message:
            case {"input": str(text)}:
                process.type(typed(text))
            case {"resize": [int(rows), int(columns)]}:
                terminal.resize(rows, columns)
            case _:
                raise BadMessage("not a message to a terminal")

    connection.listen(hear)
    connection.closed = lambda _: terminal.detach(id(connection))
    terminal.attach(id(connection), view)
