/**
 * Events as they happen, over one connection for the whole page. `EventSource` cannot send the page's half of the
 * session, so the stream is read with fetch.
 */

import { isSignedIn, pageHalf } from "../session/session";
import { unturnedJson } from "../words/direction";
import type { LogEvent } from "./client";

export type Connection = "connecting" | "live" | "lost";

type Watcher = { onEvents: (events: LogEvent[]) => void; onConnection: (state: Connection) => void };

/** How long after a lost connection the next attempt is made: soon at first, then less and less often. */
const PAUSES_MS = [500, 1000, 2000, 5000, 10_000];
/** Events are handed over together, so that a burst of them costs one drawing. */
const GATHER_MS = 200;
/** The server says something every 15 seconds. A connection that is silent for longer is dead. */
const SILENT_MS = 40_000;
/**
 * A tab that nobody looks at for so long gives its connection back: a browser has only six to a server for all its
 * tabs, and the seventh tab would not load.
 */
const UNSEEN_MS = 5000;

/** Watch until the returned function is called. */
export function watchEvents(watcher: Watcher): () => void {
  const ended = new AbortController();
  const { onEvents, onConnection } = watcher;
  const whileWatched = (state: Connection) => {
    if (!ended.signal.aborted) {
      onConnection(state);
    }
  };
  void keepWatching({ onEvents, onConnection: whileWatched }, ended.signal);
  return () => {
    ended.abort();
  };
}

async function keepWatching(watcher: Watcher, ended: AbortSignal): Promise<void> {
  const gathered = gathering(watcher.onEvents);
  let last = "";
  let failures = 0;
  await seen(ended);
  while (!ended.aborted && isSignedIn()) {
    const unseen = new Unseen();
    try {
      for await (const frame of frames(last, AbortSignal.any([ended, unseen.signal]), () => {
        failures = 0;
        watcher.onConnection("live");
      })) {
        last = frame.id || last;
        gathered(JSON.parse(unturnedJson(frame.data)) as LogEvent);
      }
    } catch {
      // A connection may end in any way. What matters is that there is a next one.
    }
    unseen.stop();
    if (unseen.signal.aborted) {
      watcher.onConnection("connecting");
      await seen(ended);
      continue;
    }
    watcher.onConnection("lost");
    await pause(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)] ?? 0);
    failures += 1;
  }
}

/** Aborts its signal once the page has been behind others for a while. */
class Unseen {
  private readonly over = new AbortController();
  private timer: number | undefined;
  readonly signal = this.over.signal;

  constructor() {
    document.addEventListener("visibilitychange", this.look);
    this.look();
  }

  stop(): void {
    window.clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.look);
  }

  private readonly look = () => {
    window.clearTimeout(this.timer);
    if (document.hidden) {
      this.timer = window.setTimeout(() => {
        this.over.abort();
      }, UNSEEN_MS);
    }
  };
}

/** Wait until somebody looks at the page. */
async function seen(ended: AbortSignal): Promise<void> {
  while (document.hidden && !ended.aborted) {
    await new Promise((resolve) => {
      document.addEventListener("visibilitychange", resolve, { once: true, signal: ended });
      ended.addEventListener("abort", resolve, { once: true });
    });
  }
}

type Frame = { id: string; data: string };

async function* frames(last: string, ended: AbortSignal, onOpen: () => void): AsyncGenerator<Frame> {
  const silent = new AbortController();
  const signal = AbortSignal.any([ended, silent.signal]);
  const headers = { "X-Muster-Page": pageHalf(), ...(last ? { "Last-Event-ID": last } : {}) };
  const answer = await fetch("/v1/events", { headers, signal });
  if (!answer.ok || answer.body === null) {
    throw new Error(answer.statusText);
  }
  onOpen();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const timer = setTimeout(() => {
      silent.abort();
    }, SILENT_MS);
    const { done, value } = await reader.read();
    clearTimeout(timer);
    if (done) {
      return;
    }
    const parts = (rest + value).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const frame = frameOf(part);
      if (frame.data) {
        yield frame;
      }
    }
  }
}

/** One event as it is sent: lines of `name: value`. */
export function frameOf(text: string): Frame {
  const frame: Frame = { id: "", data: "" };
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).trimStart();
    if (line.startsWith("id:")) {
      frame.id = value;
    } else if (line.startsWith("data:")) {
      frame.data += value;
    }
  }
  return frame;
}

function gathering(handOver: (events: LogEvent[]) => void): (event: LogEvent) => void {
  let waiting: LogEvent[] = [];
  return (event) => {
    waiting.push(event);
    if (waiting.length === 1) {
      setTimeout(() => {
        const events = waiting;
        waiting = [];
        handOver(events);
      }, GATHER_MS);
    }
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
