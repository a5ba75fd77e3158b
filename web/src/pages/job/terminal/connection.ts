/**
 * A websocket to a terminal. A browser cannot send headers with it, so the page's half of the session is offered as a
 * subprotocol; the other half is in the cookie. The server checks where the page is from, and answers with
 * `muster.terminal` and never with a secret.
 */

import { pageHalf } from "../../../session/session";

const PROTOCOL = "muster.terminal";
const SHELL = "exec bash || exec sh";

type Listener = { onOpen: () => void; onBytes: (bytes: Uint8Array) => void; onEnd: (why: string) => void };

export type Line = { type: (text: string) => void; resize: (rows: number, columns: number) => void; close: () => void };

export function connect(job: string, isInteractive: boolean, listener: Listener): Line {
  const socket = new WebSocket(addressOf(job, isInteractive), [PROTOCOL, `page.${pageHalf()}`]);
  socket.binaryType = "arraybuffer";
  let told = "";
  let isClosed = false;
  socket.onopen = listener.onOpen;
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === "string") {
      told = endOf(data);
    } else {
      listener.onBytes(new Uint8Array(data));
    }
  };
  socket.onclose = ({ code, reason }) => {
    if (!isClosed) {
      listener.onEnd(told || reason || (code === 1000 ? "The terminal has ended." : "The connection is closed: the job may have ended, or you may not use its terminal."));
    }
  };
  const encoder = new TextEncoder();
  const send = (data: string | Uint8Array<ArrayBuffer>) => {
    if (socket.readyState === WebSocket.OPEN) {
      socket.send(data);
    }
  };
  return {
    type: (text) => {
      send(encoder.encode(text));
    },
    resize: (rows, columns) => {
      send(JSON.stringify({ resize: [rows, columns] }));
    },
    close: () => {
      isClosed = true;
      socket.close();
    },
  };
}

function addressOf(job: string, isInteractive: boolean): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const base = `${scheme}://${location.host}/v1/jobs/${encodeURIComponent(job)}`;
  return isInteractive ? `${base}/attach` : `${base}/exec?terminal=true&command=${encodeURIComponent(SHELL)}`;
}

/** What the server says at the end of a command. */
export function endOf(text: string): string {
  try {
    const said = JSON.parse(text) as { exit?: number; problem?: string };
    return said.problem ?? (said.exit === undefined ? "" : `The shell has ended with exit code ${said.exit}.`);
  } catch {
    return "";
  }
}
